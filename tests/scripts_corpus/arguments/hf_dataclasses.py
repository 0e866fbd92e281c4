from dataclasses import dataclass, field
from enum import Enum
from typing import List, Literal, Optional

from transformers import HfArgumentParser, TrainingArguments


class Precision(Enum):
    HALF = "fp16"
    FULL = "fp32"


@dataclass
class ModelArguments:
    model_name: str = field(metadata={"help": "which model"})
    dropout: float = 0.1
    freeze: bool = field(default=True, metadata={"help": "freeze the encoder"})
    use_cache: bool = False
    precision: Precision = Precision.HALF
    layers: List[int] = field(default_factory=lambda: [1, 2])


@dataclass
class DataArguments:
    max_length: Optional[int] = field(default=None, metadata={"help": "cut here"})
    schedule: Literal["linear", "cosine"] = "linear"
    seed: "int" = 42


def main():
    parser = HfArgumentParser((ModelArguments, DataArguments, TrainingArguments))
    model_args, data_args, training_args = parser.parse_args_into_dataclasses()


if __name__ == "__main__":
    main()
