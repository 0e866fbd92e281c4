from tensorflow.compat import v1 as tf1

tf1.disable_eager_execution()
interactive = tf1.InteractiveSession()
with tf1.train.MonitoredTrainingSession(
    checkpoint_dir="out",
    save_checkpoint_secs=60,
) as session:
    session.run(1)
