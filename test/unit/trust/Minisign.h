// Keys, and signatures of the file "hello\n" with the name f, as minisign 0.11 wrote them.
#pragma once

namespace dtc::rt::minisign {

inline constexpr const char *publicKey =
    "untrusted comment: minisign public key 54810384C16F510B\n"
    "RWQLUW/BhAOBVHBFC+msJ5YCQ2cHEjOfxD0wWxrRAIP/lcaJoQIMnbWP\n";

// Made with -W: no password protects it.
inline constexpr const char *secretKey =
    "untrusted comment: minisign encrypted secret key\n"
    "RWQAAEIyAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAC1FvwYQDgVSe8r8o2mh/"
    "AIVm6c84SOsBEpJJyyzirYV4xEXjOCrNLnBFC+msJ5YCQ2cHEjOfxD0wWxrRAIP/"
    "lcaJoQIMnbWPAAAAAAAAAAAAAAAAAAAA"
    "AAAAAAAAAAAAAAAAAAAAAAA=\n";

inline constexpr const char *signature =
    "untrusted comment: signature from minisign secret key\n"
    "RUQLUW/BhAOBVAjlJtQ70r8wG8VCxgRh1aP0gH5ETTQglD0rOZ/"
    "qwYqYvRABu2N5PHWmXXkYo79dSJfkyysovhnajTcEPDIwLwY=\n"
    "trusted comment: timestamp:1796126548\tfile:f\thashed\n"
    "OWSRnzbhH8mPVz01cF3BpGs8cuGT5v404sZL3QjRPaENzT8csFXssGAAvzHVZ6HTgBYpPXJ0so30uM9pJnfTDw==\n";

// Made with -l: the signature of the bytes, not of their hash.
inline constexpr const char *legacySignature =
    "untrusted comment: signature from minisign secret key\n"
    "RWQLUW/BhAOBVBtjMKqPbt0IIiuws03B/zO7V5V9zeJ+/"
    "Rq8YymXJpsx300UH57qqg8mt9AS+L7Xxwx7ltbWd8bBIE2BCl/QfwY=\n"
    "trusted comment: timestamp:1796126963\tfile:f\n"
    "kQWZtDJyovc98A+G30TRuZgLtbM9wq4Y6mrQuiTduUJC0jT94j0myFMORMaGdpmjsQ1S8xHby7HtplYwKmH9Dw==\n";

} // namespace dtc::rt::minisign
