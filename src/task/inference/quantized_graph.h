// The file that `evener quantize` leaves of a network in another program's file that stays as it is.
#pragma once

namespace evener::task {

/// OpenVINO's own format; its weights lie beside it (.bin).
constexpr const char* kQuantizedGraph = "quantized.xml";

}  // namespace evener::task
