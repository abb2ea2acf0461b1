"""Recurrent layers and their cells as the ops of each step. Releases of PyTorch differ in which of them they can make
simpler (2.15 keeps cells as one op), so that all are written out here.

Gates are in the order of PyTorch: i, f, g, o of an LSTM; r, z, n of a GRU.
"""

import torch
import torch.nn.functional as F

from dtc.errors import Unsupported

# The most steps of one call, those of all layers and directions, since each is written out.
MOST_STEPS = 2048


def lstm_step(x, state, weights):
    """`x`: what the input gives the gates; `weights`: of the state, its bias or None, and of the projection or None."""
    hidden, cell = state
    i, f, g, o = (x + F.linear(hidden, *weights[:2])).chunk(4, -1)
    cell = f.sigmoid() * cell + i.sigmoid() * g.tanh()
    hidden = o.sigmoid() * cell.tanh()
    return (hidden if weights[2] is None else F.linear(hidden, weights[2])), cell


def gru_step(x, state, weights):
    (hidden,) = state
    x_r, x_z, x_n = x.chunk(3, -1)
    h_r, h_z, h_n = F.linear(hidden, *weights[:2]).chunk(3, -1)
    n = (x_n + (x_r + h_r).sigmoid() * h_n).tanh()
    return ((hidden - n) * (x_z + h_z).sigmoid() + n,)


def tanh_step(x, state, weights):
    return ((x + F.linear(state[0], *weights[:2])).tanh(),)


def relu_step(x, state, weights):
    return ((x + F.linear(state[0], *weights[:2])).relu(),)


def cell_of(step):
    """Returns what one step of a cell computes, by the arguments of its op."""

    def cell(input, hx, w_ih, w_hh, b_ih=None, b_hh=None):
        state = tuple(hx) if isinstance(hx, (list, tuple)) else (hx,)
        result = step(F.linear(input, w_ih, b_ih), state, (w_hh, b_hh, None))
        return result if len(result) > 1 else result[0]

    return cell


def layer_of(step):
    """Returns what layers of steps compute, by the arguments of their op."""

    def layers(
        input, hx, params, has_biases, num_layers, dropout, train, bidirectional, batch_first
    ):
        states = hx if isinstance(hx, (list, tuple)) else (hx,)
        time, directions = 1 if batch_first else 0, 2 if bidirectional else 1
        calls = num_layers * directions
        if input.shape[time] * calls > MOST_STEPS:
            raise Unsupported(
                f"has {input.shape[time]} steps of time in {num_layers} layers"
                + (" of two directions" if bidirectional else "")
                + f", and each is written out; at most {MOST_STEPS} are: take shorter sequences,"
                " or a layer without steps (cumsum, a convolution, attention)"
            )
        each = len(params) // calls  # tensors of one layer in one direction
        x, last = input.transpose(0, 1) if batch_first else input, []
        for layer in range(num_layers):
            results = []
            for backwards in range(directions):
                at = layer * directions + backwards
                w_ih, w_hh, *rest = params[at * each : (at + 1) * each]
                b_ih, b_hh = rest[:2] if has_biases else (None, None)
                projection = rest[-1] if each in (3, 5) else None
                gates = F.linear(x, w_ih, b_ih).unbind(0)
                state, outputs = tuple(every[at] for every in states), []
                for given in reversed(gates) if backwards else gates:
                    state = step(given, state, (w_hh, b_hh, projection))
                    outputs.append(state[0])
                results.append(torch.stack(outputs[::-1] if backwards else outputs))
                last.append(state)
            x = torch.cat(results, -1) if bidirectional else results[0]
            if train and dropout and layer < num_layers - 1:
                x = torch.dropout(x, dropout, True)
        x = x.transpose(0, 1) if batch_first else x
        return (x, *(torch.stack(every) for every in zip(*last)))

    return layers


STEPS = {"lstm": lstm_step, "gru": gru_step, "rnn_tanh": tanh_step, "rnn_relu": relu_step}
aten = torch.ops.aten
# op -> the function that computes it by simpler ones
RECURRENT = {getattr(aten, f"{name}_cell").default: cell_of(step) for name, step in STEPS.items()}
RECURRENT |= {getattr(aten, name).input: layer_of(step) for name, step in STEPS.items()}
