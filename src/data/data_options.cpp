#include "data/data_options.h"

#include "base/names.h"

namespace evener::data {

constexpr Named<DecodeMode> kDecodeModes[] = {{DecodeMode::kExact, "exact"}, {DecodeMode::kFast, "fast"}};

const char* decode_mode_name(DecodeMode mode) {
  return name_in(kDecodeModes, mode);
}

DecodeMode parse_decode_mode(const std::string& name) {
  return value_named(kDecodeModes, "way to decode", name);
}

}  // namespace evener::data
