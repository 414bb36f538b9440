"""What a vLLM build can do on a machine: its attention backends and kernels for experts, and which of them it would choose.

``tables`` lists what each class says about itself. ``attention`` and ``moe`` let the build's own code choose: ``machine``
evaluates that code on what is known, without importing or running any of it, and says what it does not know.
"""
