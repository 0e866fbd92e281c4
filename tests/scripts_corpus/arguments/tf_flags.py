import tensorflow as tf

tf.app.flags.DEFINE_string("data_url", "./data", "Where the data is.")
tf.flags.DEFINE_integer("max_steps", 1000, "Number of steps to run.")
tf.compat.v1.flags.DEFINE_boolean("use_fp16", False, """Train
with fp16.""")
FLAGS = tf.app.flags.FLAGS


def main(_):
    print(FLAGS.max_steps)


if __name__ == "__main__":
    tf.app.run()
