// Holds the precompiled header; see MlirPch.h.
