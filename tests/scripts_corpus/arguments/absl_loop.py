import absl.app
import absl.flags as F


def define_flags():
    for name in ("encoder", "decoder"):
        F.DEFINE_integer(f"{name}_layers", 2, "Layers of the %s." % name)
    F.DEFINE_string(name="out", default="./out", help="Where to.")


def main(_):
    pass


if __name__ == "__main__":
    define_flags()
    F.FLAGS.set_default("decoder_layers", 4)
    F.mark_flags_as_required(["out"])
    absl.app.run(main)
