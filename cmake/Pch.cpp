// Holds a precompiled header; see dtc_add_pch.
