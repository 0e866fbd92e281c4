import tensorflow as tf

config = tf.ConfigProto(allow_soft_placement=True)
config.gpu_options.allow_growth = True
x = tf.placeholder(tf.float32, [None, 4])
with tf.Session(config=config) as sess:  # the training
    sess.run(x)

with tf.Session() as sess:
    sess.run(x)
