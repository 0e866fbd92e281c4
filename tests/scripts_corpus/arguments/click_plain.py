import click

MODELS = ["mlp", "cnn"]


@click.command()
@click.argument("source", type=click.Path())
@click.option("--lr", "-l", default=0.01, show_default=True, help="Learning rate.")
@click.option("--epochs", type=int, default=10)
@click.option("--name", required=True, type=str)
@click.option("--model", type=click.Choice(MODELS), default="cnn")
@click.option("--shout/--no-shout", default=False)
@click.option("--dry-run", is_flag=True, help="Do nothing.")
@click.option("--tag", multiple=True)
@click.option("-v", "--verbose", count=True)
@click.option("--size", nargs=2, type=int)
@click.option("--rate", type=click.FloatRange(0, 1), default=0.5)
@click.option("--string-to-echo", "echo", default="x")
@click.option("--on", type=bool, default=True)
def main(**options):
    print(options)


if __name__ == "__main__":
    main()
