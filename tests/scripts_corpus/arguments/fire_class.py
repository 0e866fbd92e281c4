import fire


class Trainer:
    def __init__(self, root="./data", workers=2):
        self.root = root

    def train(self, epochs=5, lr=0.1):
        return epochs

    def evaluate(self, checkpoint, k: int = 1):
        return checkpoint

    def _hidden(self, x=1): ...


if __name__ == "__main__":
    fire.Fire(Trainer)
