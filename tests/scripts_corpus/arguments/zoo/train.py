from model_utils.config import config


def train():
    print(config.batch_size)


if __name__ == "__main__":
    train()
