"""A training step in plain JAX: one jit of forward, backward, clipping and AdamW, buffers donated."""

import jax
import jax.numpy as jnp
import peer


def training(parameters, loss_of):
    """Returns a state, and a compiled function of the state and a batch that returns the next state and the loss.

    `loss_of` takes parameters and the batch.
    """

    def update(state, *batch):
        parameters, first, second, count = state
        loss, gradients = jax.value_and_grad(loss_of)(parameters, *batch)
        norm = jnp.sqrt(sum(jnp.vdot(g, g) for g in jax.tree.leaves(gradients)))
        scale = jnp.minimum(1.0, peer.CLIP_NORM / (norm + 1e-6))
        count = count + 1
        beta1, beta2 = peer.BETAS
        correction1, correction2 = 1 - beta1**count, 1 - beta2**count

        def adamw(p, g, m, v):
            g = g * scale
            m = beta1 * m + (1 - beta1) * g
            v = beta2 * v + (1 - beta2) * g * g
            change = m / correction1 / (jnp.sqrt(v / correction2) + peer.EPSILON)
            decay = peer.WEIGHT_DECAY if p.ndim > 1 else 0.0
            return p - peer.LEARNING_RATE * (change + decay * p), m, v

        stepped = jax.tree.map(adamw, parameters, gradients, first, second)
        new = [jax.tree.map(lambda _, s, i=i: s[i], parameters, stepped) for i in range(3)]
        return (*new, count), loss

    zeros = lambda: jax.tree.map(jnp.zeros_like, parameters)
    return (parameters, zeros(), zeros(), jnp.float32(0)), jax.jit(update, donate_argnums=0)
