"""CFGPT, the paper's post-training on causal graphs: no code of it is released, and this is a reimplementation."""
