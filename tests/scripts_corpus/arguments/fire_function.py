import fire


def train(data, lr=0.1, epochs: int = 3, name: str = None, amp=False, sizes=(1, 2), *, seed=0):
    """Trains.

    Args:
        data: where the data is
        lr (float): learning rate
        epochs: how long
    """
    return lr


if __name__ == "__main__":
    fire.Fire(train)
