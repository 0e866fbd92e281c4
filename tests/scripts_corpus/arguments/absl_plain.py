from absl import app, flags

FLAGS = flags.FLAGS
flags.DEFINE_string("data_dir", "/tmp/data", "Where the data is.")
flags.DEFINE_integer("batch_size", 32, "Batch size.", lower_bound=1)
flags.DEFINE_float("lr", default=1e-3, help="Learning rate.")
flags.DEFINE_bool("use_amp", False, "Mixed precision.")
flags.DEFINE_boolean("shuffle", True, "Shuffle.")
flags.DEFINE_enum("model", "small", ["small", "large"], "Which model.")
flags.DEFINE_list("layers", "64,32", "Sizes.")
flags.DEFINE_multi_integer("gpu", [0], "Devices.")
flags.DEFINE_string("name", None, "The name.", required=True)
_STEPS = flags.DEFINE_integer("steps", 10 * 100, "Steps.")
flags.DEFINE_string("project", None, "Project.")
flags.mark_flag_as_required("project")


def main(argv):
    del argv
    print(FLAGS.lr, _STEPS.value)


if __name__ == "__main__":
    app.run(main)
