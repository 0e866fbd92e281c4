"""Teach a small neural network to read handwritten digits, with nothing but Python's own library.

    python train.py                                       data from data/, results to out/
    python train.py --data_url DATA --train_url RESULTS   what a training platform calls

It prints its progress, saves a checkpoint after every epoch, and goes on from the newest one when started again.
Works with Python 3.7 and later.
"""

import argparse
import json
import math
import os
import random
import sys
import time
from operator import mul
from pathlib import Path

HERE = Path(__file__).resolve().parent
DATA_FILE = "digits.txt"
PIXELS = 64
DIGITS = 10
DARKNESS = {character: value / 16 for value, character in enumerate("0123456789abcdefg")}
BATCH = 25
STEPS_PER_LINE = 8


class Unusable(Exception):
    """Something the user can put right; the message says what."""


def read_images(data_url):
    """The images as (pixels, digit) pairs, from the data file or from the folder that holds it."""
    if data_url.startswith(("obs:", "s3:")):
        raise Unusable(
            f"--data_url is {data_url}, but this script reads a folder of the machine it runs on. "
            "Give it as an input of the job, then the platform downloads it first."
        )
    path = Path(data_url)
    if path.is_dir():
        path = path / DATA_FILE
    if not path.is_file():
        raise Unusable(
            f"no training data: {path} does not exist. --data_url must be {DATA_FILE} or the folder that holds it."
        )
    images = []
    for number, line in enumerate(path.read_text(encoding="utf-8", errors="replace").splitlines(), start=1):
        try:
            pixels, digit = line.split()
            image = [DARKNESS[character] for character in pixels], int(digit)
        except (KeyError, ValueError):
            image = [], -1
        if len(image[0]) != PIXELS or not 0 <= image[1] < DIGITS:
            raise Unusable(f"{path}, line {number}: not 64 pixels and a digit. Upload the file again.")
        images.append(image)
    if len(images) < 5 * BATCH:
        raise Unusable(f"{path} holds {len(images)} images, too few to train on. Upload the file again.")
    return images


def split(images):
    """Every fifth image is kept back, so that accuracy is measured on digits the network never saw."""
    held_out = images[::5]
    training = [image for place, image in enumerate(images) if place % 5]
    return training, held_out


def new_network(hidden, random_source):
    def layer(rows, columns):
        spread = math.sqrt(2 / columns)
        return [[random_source.gauss(0, spread) for _ in range(columns)] for _ in range(rows)]

    return {
        "weights1": layer(hidden, PIXELS),
        "biases1": [0.0] * hidden,
        "weights2": layer(DIGITS, hidden),
        "biases2": [0.0] * DIGITS,
    }


def forward(network, pixels):
    """What the hidden layer holds, and how likely the network thinks each digit is."""
    hidden = [max(0.0, sum(map(mul, row, pixels)) + bias) for row, bias in zip(network["weights1"], network["biases1"])]
    scores = [sum(map(mul, row, hidden)) + bias for row, bias in zip(network["weights2"], network["biases2"])]
    highest = max(scores)
    powers = [math.exp(score - highest) for score in scores]
    total = sum(powers)
    return hidden, [power / total for power in powers]


def train_batch(network, batch, learning_rate):
    """One step of gradient descent; returns the summed loss and the number of digits read right before the step."""
    rows1 = [[0.0] * PIXELS for _ in network["weights1"]]
    rows2 = [[0.0] * len(network["weights1"]) for _ in range(DIGITS)]
    sums1 = [0.0] * len(rows1)
    sums2 = [0.0] * DIGITS
    columns2 = list(zip(*network["weights2"]))
    loss, right = 0.0, 0
    for pixels, digit in batch:
        hidden, chances = forward(network, pixels)
        loss -= math.log(max(chances[digit], 1e-12))
        right += chances.index(max(chances)) == digit
        errors = chances
        errors[digit] -= 1
        for place, error in enumerate(errors):
            rows2[place] = [value + error * unit for value, unit in zip(rows2[place], hidden)]
            sums2[place] += error
        for place, unit in enumerate(hidden):
            if unit > 0:
                error = sum(map(mul, errors, columns2[place]))
                rows1[place] = [value + error * pixel for value, pixel in zip(rows1[place], pixels)]
                sums1[place] += error
    rate = learning_rate / len(batch)
    for weights, biases, rows, sums in (("weights1", "biases1", rows1, sums1), ("weights2", "biases2", rows2, sums2)):
        network[weights] = [
            [weight - rate * change for weight, change in zip(old, row)] for old, row in zip(network[weights], rows)
        ]
        network[biases] = [bias - rate * change for bias, change in zip(network[biases], sums)]
    return loss, right


def evaluate(network, images):
    loss, right = 0.0, 0
    for pixels, digit in images:
        chances = forward(network, pixels)[1]
        loss -= math.log(max(chances[digit], 1e-12))
        right += chances.index(max(chances)) == digit
    return loss / len(images), right / len(images)


def write_whole(path, content):
    """Write JSON so that the file is either the old one or the new one, never a part: a job may be stopped any time."""
    path.parent.mkdir(parents=True, exist_ok=True)
    unfinished = path.with_name(path.name + ".part")
    with open(str(unfinished), "w", encoding="utf-8") as file:
        json.dump(content, file)
        file.flush()
        os.fsync(file.fileno())
    os.replace(str(unfinished), str(path))


def newest_checkpoint(folder, hidden, seed):
    """The checkpoint of the latest epoch in this folder that is whole and fits this run, or nothing."""
    for path in sorted(folder.glob("epoch-*.json"), reverse=True):
        try:
            checkpoint = json.loads(path.read_text(encoding="utf-8"))
            made_with = checkpoint["hidden"], checkpoint["seed"]
            checkpoint["epoch"], checkpoint["network"]["biases2"]
        except (OSError, ValueError, KeyError, TypeError):
            say(f"checkpoint {path} is not complete, trying the one before")
            continue
        if made_with == (hidden, seed):
            say(f"resumed from {path}, epoch {checkpoint['epoch']} is done")
            return checkpoint
        say(f"checkpoint {path} was made with hidden {made_with[0]} and seed {made_with[1]}, not used")
    return None


def say(line):
    # Flushed at once: a platform shows what it has received, and a stopped job keeps nothing it had only buffered.
    print(line, flush=True)


def run(options):
    began = time.time()
    training, held_out = split(read_images(options.data_url))
    results = Path(options.train_url)
    checkpoints = results / "ckpt"
    say(
        f"{len(training)} images to train on, {len(held_out)} held out, "
        f"network {PIXELS}-{options.hidden}-{DIGITS}, learning rate {options.lr:g}, seed {options.seed}"
    )
    resume_from = Path(options.resume) if options.resume else checkpoints
    checkpoint = newest_checkpoint(resume_from, options.hidden, options.seed)
    if options.resume and not checkpoint:
        say(f"no checkpoint to resume from in {resume_from}, starting at epoch 1")
    if checkpoint:
        network, done, history = checkpoint["network"], checkpoint["epoch"], checkpoint["history"]
    else:
        network, done, history = new_network(options.hidden, random.Random(options.seed)), 0, []

    steps = math.ceil(len(training) / BATCH)
    for epoch in range(done + 1, options.epochs + 1):
        # The order depends on seed and epoch alone, so a resumed run ends exactly like one that was never stopped.
        order = list(training)
        random.Random(options.seed * 100003 + epoch).shuffle(order)
        loss, right, seen = 0.0, 0, 0
        for step in range(1, steps + 1):
            batch = order[(step - 1) * BATCH : step * BATCH]
            batch_loss, batch_right = train_batch(network, batch, options.lr)
            loss, right, seen = loss + batch_loss, right + batch_right, seen + len(batch)
            if step % STEPS_PER_LINE == 0 or step == steps:
                place = f"epoch {epoch}/{options.epochs} step {step}/{steps}"
                say(f"{place} loss {loss / seen:.4f} accuracy {right / seen:.4f}")
                loss, right, seen = 0.0, 0, 0
        test_loss, test_accuracy = evaluate(network, held_out)
        say(f"epoch {epoch}/{options.epochs} test_loss {test_loss:.4f} test_accuracy {test_accuracy:.4f}")
        history.append({"epoch": epoch, "test_loss": test_loss, "test_accuracy": test_accuracy})
        path = checkpoints / f"epoch-{epoch:03d}.json"
        write_whole(
            path,
            {
                "epoch": epoch,
                "hidden": options.hidden,
                "seed": options.seed,
                "history": history,
                "network": network,
            },
        )
        say(f"checkpoint {path}")

    if options.epochs <= done:
        say(f"nothing left to do: {options.epochs} epochs asked for, {done} done")
    write_whole(results / "model.json", network)
    write_whole(results / "metrics.json", {"epochs": history, "hidden": options.hidden, "seed": options.seed})
    last = history[-1]
    seconds = time.time() - began
    say(f"finished: test_accuracy {last['test_accuracy']:.4f} after epoch {last['epoch']}, {seconds:.1f} s")


def positive_number(kind):
    def read(text):
        number = kind(text)
        if not 0 < number < math.inf:
            raise ValueError(text)
        return number

    read.__name__ = f"positive {kind.__name__}"
    return read


def main():
    sys.stdout.reconfigure(encoding="utf-8")
    sys.stderr.reconfigure(encoding="utf-8")
    parser = argparse.ArgumentParser(description="Teach a small neural network to read handwritten digits.")
    parser.add_argument("--data_url", default=str(HERE / "data"), help="the data file or the folder that holds it")
    parser.add_argument("--train_url", default=str(HERE / "out"), help="folder for checkpoints, metrics and the model")
    parser.add_argument("--epochs", type=positive_number(int), default=30, help="passes over the training images")
    parser.add_argument("--lr", type=positive_number(float), default=0.05, help="learning rate")
    parser.add_argument("--hidden", type=positive_number(int), default=128, help="units in the hidden layer")
    parser.add_argument("--seed", type=int, default=7, help="same seed, same result")
    parser.add_argument("--resume", default="", help="folder with checkpoints, if not ckpt/ below --train_url")
    # Platforms add arguments of their own; parse_args() would end the job on the first one.
    options, unknown = parser.parse_known_args()
    if unknown:
        say(f"arguments of the platform, not used here: {' '.join(unknown)}")
    try:
        run(options)
    except (Unusable, OSError) as problem:
        print(f"error: {problem}", file=sys.stderr, flush=True)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
