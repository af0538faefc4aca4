"""A small transformer that predicts the next token, with its gradients, and Adam: all in NumPy.

Parameters lie in one flat array, and so do the gradients: one all-reduce exchanges them all.
"""

import numpy as np


def _shapes(vocabulary, length, width, layers):
    shapes = {"tokens": (vocabulary, width), "positions": (length, width)}
    for layer in range(layers):
        shapes[f"{layer}.queries_keys_values"] = (width, 3 * width)
        shapes[f"{layer}.attention_out"] = (width, width)
        shapes[f"{layer}.mlp_in"] = (width, 4 * width)
        shapes[f"{layer}.mlp_out"] = (4 * width, width)
    shapes["head"] = (width, vocabulary)
    return shapes


def _views(flat, shapes):
    views, start = {}, 0
    for name, shape in shapes.items():
        size = int(np.prod(shape))
        views[name] = flat[start : start + size].reshape(shape)
        start += size
    return views


def normalize(x):
    """Layer norm without gain and bias. Returns what the gradient needs, too."""
    centered = x - x.mean(axis=-1, keepdims=True)
    inverse = 1.0 / np.sqrt((centered * centered).mean(axis=-1, keepdims=True) + np.float32(1e-5))
    return centered * inverse, inverse


def normalize_gradient(gradient, normal, inverse):
    mean = gradient.mean(axis=-1, keepdims=True)
    projected = (gradient * normal).mean(axis=-1, keepdims=True)
    return (gradient - mean - normal * projected) * inverse


def softmax(x):
    powers = np.exp(x - x.max(axis=-1, keepdims=True))
    return powers / powers.sum(axis=-1, keepdims=True)


class Transformer:
    def __init__(self, vocabulary, length, width, layers, heads, seed):
        self.layers = layers
        self.heads = heads
        self.shapes = _shapes(vocabulary, length, width, layers)
        size = sum(int(np.prod(shape)) for shape in self.shapes.values())
        random = np.random.default_rng(seed)
        self.flat = (0.05 * random.standard_normal(size)).astype(np.float32)
        # Gradients, and behind them what ranks announce to each other in every step (replacement.py).
        self.exchanged = np.zeros(size + 2, np.float32)
        self.flat_gradient = self.exchanged[:size]
        self.announced = self.exchanged[size:]
        self.weights = _views(self.flat, self.shapes)
        self.gradients = _views(self.flat_gradient, self.shapes)
        self.mask = np.triu(np.full((length, length), -1e9, np.float32), 1)
        self._saved = []

    def forward(self, tokens):
        """Token ids [batch, length] to scores [batch, length, vocabulary]."""
        self._saved = [tokens]
        x = self.weights["tokens"][tokens] + self.weights["positions"]
        for layer in range(self.layers):
            x = x + self.attention(layer, x)
            x = x + self.mlp(layer, x)
        normal, inverse = normalize(x)
        self._saved.append((normal, inverse))
        return normal @ self.weights["head"]

    def attention(self, layer, x):
        normal, inverse = normalize(x)
        projected = normal @ self.weights[f"{layer}.queries_keys_values"]
        query, key, value = (self._split_heads(part) for part in np.split(projected, 3, axis=-1))
        scale = np.float32(1.0 / np.sqrt(query.shape[-1]))
        weights = softmax(query @ key.swapaxes(-1, -2) * scale + self.mask)
        mixed = self._join_heads(weights @ value)
        self._saved.append((normal, inverse, query, key, value, weights, mixed))
        return mixed @ self.weights[f"{layer}.attention_out"]

    def mlp(self, layer, x):
        normal, inverse = normalize(x)
        hidden = np.maximum(normal @ self.weights[f"{layer}.mlp_in"], 0)
        self._saved.append((normal, inverse, hidden))
        return hidden @ self.weights[f"{layer}.mlp_out"]

    def backward(self, score_gradient):
        """Adds the gradients of all parameters to `gradients`."""
        normal, inverse = self._saved.pop()
        self._add("head", normal, score_gradient)
        gradient = score_gradient @ self.weights["head"].T
        gradient = normalize_gradient(gradient, normal, inverse)
        for layer in reversed(range(self.layers)):
            gradient = gradient + self.mlp_backward(layer, gradient)
            gradient = gradient + self.attention_backward(layer, gradient)
        tokens = self._saved.pop()
        np.add.at(self.gradients["tokens"], tokens, gradient)
        self.gradients["positions"] += gradient.sum(axis=0)

    def mlp_backward(self, layer, gradient):
        normal, inverse, hidden = self._saved.pop()
        self._add(f"{layer}.mlp_out", hidden, gradient)
        hidden_gradient = (gradient @ self.weights[f"{layer}.mlp_out"].T) * (hidden > 0)
        self._add(f"{layer}.mlp_in", normal, hidden_gradient)
        return normalize_gradient(
            hidden_gradient @ self.weights[f"{layer}.mlp_in"].T, normal, inverse)

    def attention_backward(self, layer, gradient):
        normal, inverse, query, key, value, weights, mixed = self._saved.pop()
        self._add(f"{layer}.attention_out", mixed, gradient)
        mixed_gradient = self._split_heads(gradient @ self.weights[f"{layer}.attention_out"].T)
        weight_gradient = mixed_gradient @ value.swapaxes(-1, -2)
        inner = (weight_gradient * weights).sum(axis=-1, keepdims=True)
        scale = np.float32(1.0 / np.sqrt(query.shape[-1]))
        score_gradient = weights * (weight_gradient - inner) * scale
        parts = (score_gradient @ key, score_gradient.swapaxes(-1, -2) @ query,
                 weights.swapaxes(-1, -2) @ mixed_gradient)
        projected = np.concatenate([self._join_heads(part) for part in parts], axis=-1)
        self._add(f"{layer}.queries_keys_values", normal, projected)
        return normalize_gradient(
            projected @ self.weights[f"{layer}.queries_keys_values"].T, normal, inverse)

    def _add(self, name, inputs, gradient):
        rows = inputs.reshape(-1, inputs.shape[-1])
        self.gradients[name] += rows.T @ gradient.reshape(-1, gradient.shape[-1])

    def _split_heads(self, x):
        batch, length, width = x.shape
        return x.reshape(batch, length, self.heads, width // self.heads).swapaxes(1, 2)

    def _join_heads(self, x):
        batch, heads, length, width = x.shape
        return x.swapaxes(1, 2).reshape(batch, length, heads * width)


def cross_entropy(scores, targets):
    """Mean loss, and its gradient."""
    probabilities = softmax(scores)
    rows = probabilities.reshape(-1, probabilities.shape[-1])
    picked = rows[np.arange(rows.shape[0]), targets.reshape(-1)]
    loss = float(-np.log(picked + 1e-9).mean())
    rows[np.arange(rows.shape[0]), targets.reshape(-1)] -= 1
    return loss, probabilities / np.float32(rows.shape[0])


class Adam:
    def __init__(self, parameters, rate=3e-3):
        self.parameters = parameters
        self.rate = rate
        self.mean = np.zeros_like(parameters)
        self.square = np.zeros_like(parameters)
        self.count = 0

    def step(self, gradient):
        self.count += 1
        self.mean += np.float32(0.1) * (gradient - self.mean)
        self.square += np.float32(0.01) * (gradient * gradient - self.square)
        mean = self.mean / np.float32(1 - 0.9**self.count)
        square = self.square / np.float32(1 - 0.99**self.count)
        self.parameters -= np.float32(self.rate) * mean / (np.sqrt(square) + np.float32(1e-8))
