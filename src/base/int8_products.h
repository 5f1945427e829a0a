// Whether the processor adds up products of bytes without losing some.
#pragma once

namespace evener {

/// Dot products of int8 in 32 bits (VNNI, AMX). Without them sums of two products have 16 bits, which two of 255 * 127
/// exceed: weights have to be half as large then. Where EVENER_SIMD holds to less (base/simd_level.h) there are none.
bool has_int8_products();

}  // namespace evener
