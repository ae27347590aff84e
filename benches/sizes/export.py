"""Exports an encoder and a decoder with open sizes, as `transformers` and torch's exporter write them, with random weights.

    export.py FOLDER

Writes bert.onnx, BERT-base, and gpt2.onnx, the GPT-2 of 12 layers that takes the keys and values of what it saw before and gives them on.
What is there already is left alone.
"""
import os
import pathlib
import sys
import warnings

warnings.filterwarnings("ignore")
os.environ["TRANSFORMERS_VERBOSITY"] = "error"
import torch  # noqa: E402
import transformers  # noqa: E402

LAYERS = 12


class Encoder(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.model = transformers.BertModel(transformers.BertConfig())

    def forward(self, tokens, mask):
        return self.model(input_ids=tokens, attention_mask=mask, return_dict=False)[0]


class Decoder(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.model = transformers.GPT2LMHeadModel(transformers.GPT2Config(n_layer=LAYERS))

    def forward(self, tokens, *past):
        found = self.model(tokens, past_key_values=tuple(zip(past[::2], past[1::2])), use_cache=True, return_dict=False)
        return (found[0], *[one for layer in found[1] for one in layer])


def randomized(model):
    """The model with numbers in its biases too: where they are all 0, several are one constant."""
    for name, weight in model.named_parameters():
        if name.endswith("bias"):
            torch.nn.init.normal_(weight, std=0.02)
    return model.eval()


def export(model, inputs, axes, results, path):
    if path.exists():
        return
    partial = path.with_suffix(".part")
    torch.onnx.export(randomized(model), tuple(inputs.values()), partial, input_names=list(inputs), output_names=results,
                      dynamic_axes=axes, opset_version=14)
    partial.rename(path)


def main():
    folder = pathlib.Path(sys.argv[1])
    torch.manual_seed(0)
    tokens = torch.randint(3, 100, (1, 16))
    sizes = {0: "batch", 1: "seq"}
    export(Encoder(), {"input_ids": tokens, "attention_mask": torch.ones_like(tokens)}, {"input_ids": sizes, "attention_mask": sizes}, ["out"], folder / "bert.onnx")
    past = {f"past.{layer}.{which}": torch.randn(1, 12, 5, 64) for layer in range(LAYERS) for which in "kv"}
    axes = {"input_ids": sizes} | {name: {0: "batch", 2: "past"} for name in past}
    results = ["logits"] + [name.replace("past", "present") for name in past]
    export(Decoder(), {"input_ids": tokens[:, :1]} | past, axes, results, folder / "gpt2.onnx")


if __name__ == "__main__":
    main()
