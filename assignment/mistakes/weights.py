"""Known mistakes of the part "weights"."""

from assignment.mistakes.mistake import Mistake

CHECKPOINT = "minbert/checkpoint.py"
RENAMED = '        if key != "embeddings.position_ids":  # a constant that old releases stored\n'

MISTAKES = (
    Mistake(
        "prefix-kept",
        CHECKPOINT,
        "            key = key.removeprefix(architecture.prefix)\n",
        "",
        'the prefix "bert." is not taken off',
    ),
    Mistake(
        "gamma-kept",
        CHECKPOINT,
        '        key = key.replace("LayerNorm.gamma", "LayerNorm.weight")\n'
        '        key = key.replace("LayerNorm.beta", "LayerNorm.bias")\n',
        "",
        "TensorFlow's LayerNorm.gamma and LayerNorm.beta are not renamed",
    ),
    Mistake(
        "gamma-as-bias",
        CHECKPOINT,
        '        key = key.replace("LayerNorm.gamma", "LayerNorm.weight")\n'
        '        key = key.replace("LayerNorm.beta", "LayerNorm.bias")\n',
        '        key = key.replace("LayerNorm.gamma", "LayerNorm.bias")\n'
        '        key = key.replace("LayerNorm.beta", "LayerNorm.weight")\n',
        "gamma and beta are exchanged: gamma is the weight, beta the bias",
    ),
    Mistake(
        "buffer-kept",
        CHECKPOINT,
        RENAMED,
        "        if key:\n",
        "embeddings.position_ids is kept; it is a constant and no weight",
    ),
    Mistake(
        "head-kept",
        CHECKPOINT,
        "            key = _replace_start(key, architecture.head)\n",
        "",
        "the prediction head keeps the names of its architecture",
    ),
    Mistake(
        "missing-ignored",
        CHECKPOINT,
        "    state = module.state_dict()\n    missing",
        "    tensors = {**module.state_dict(), **tensors}\n"
        "    state = module.state_dict()\n    missing",
        "a missing tensor is passed over in silence: part of the model stays untrained",
    ),
    Mistake(
        "shape-ignored",
        CHECKPOINT,
        "        if tensors[key].shape != parameter.shape:\n",
        "        tensors = {**tensors, key: tensors[key].reshape(parameter.shape)}\n"
        "        if tensors[key].shape != parameter.shape:\n",
        "a tensor of another shape is reshaped until it fits; it should be refused",
    ),
    Mistake(
        "nothing-loaded",
        CHECKPOINT,
        "    module.load_state_dict({key: tensors[key] for key in state})\n",
        "",
        "everything is checked and nothing copied: the module keeps its own weights",
    ),
    Mistake(
        "surplus-refused",
        CHECKPOINT,
        "    if missing:\n",
        "    missing = missing or [key for key in tensors if key not in state]\n    if missing:\n",
        "a tensor that the module does not have is refused; it should be left alone",
    ),
)
