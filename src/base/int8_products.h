// Whether the processor adds up products of bytes without losing some.
#pragma once

namespace evener {

/// Dot products of int8 in 32 bits (VNNI, AMX). Without them sums of two products have 16 bits, which two of 255 * 127
/// exceed: weights have to be half as large then. The variable EVENER_SIMD, set to "avx2" or "baseline", says that
/// there are none, so that such a processor can be tried on another.
bool has_int8_products();

}  // namespace evener
