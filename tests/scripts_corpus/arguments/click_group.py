import click


def shared(function):
    function = click.option("--seed", type=int, default=0)(function)
    return click.option("--data", default="./data")(function)


@click.group()
@click.option("--debug", is_flag=True)
def cli(debug):
    pass


@cli.command()
@click.option("--epochs", type=click.IntRange(1, 100), default=3)
def train(epochs):
    pass


@cli.command("evaluate")
@click.argument("checkpoint")
@shared
def evaluate_it(checkpoint, seed, data):
    pass


if __name__ == "__main__":
    cli()
