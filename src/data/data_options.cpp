#include "data/data_options.h"

#include "base/names.h"

namespace evener::data {

constexpr const char* kDecodeModes[] = {"exact", "fast"};

const char* decode_mode_name(DecodeMode mode) {
  return name_in(kDecodeModes, mode);
}

DecodeMode parse_decode_mode(const std::string& name) {
  return value_named<DecodeMode>(kDecodeModes, "way to decode", name);
}

}  // namespace evener::data
