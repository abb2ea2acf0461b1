"""The command dtc-data (dtc data build): text as tokens that dtrun and Megatron-LM read; see docs/data.md."""
