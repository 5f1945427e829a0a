#include "data/data_options.h"

#include "base/error.h"
#include "base/names.h"

namespace evener::data {

const char* decode_mode_name(DecodeMode mode) {
  return mode == DecodeMode::kFast ? "fast" : "exact";
}

DecodeMode parse_decode_mode(const std::string& name) {
  for (const DecodeMode mode : {DecodeMode::kExact, DecodeMode::kFast}) {
    if (name == decode_mode_name(mode)) return mode;
  }
  throw UsageError(unknown_name_message("way to decode", name, {"exact", "fast"}));
}

}  // namespace evener::data
