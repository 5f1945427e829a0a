// JSON in the metadata of files of weights: whatever bytes its strings are, and whoever made it.
#include "weights/metadata_json.h"

#include <gmock/gmock.h>

#include <nlohmann/json.hpp>

namespace evener::weights {
namespace {

using nlohmann::json;

TEST(MetadataJson, KeepsStringsOfAnyBytes) {
  const json value = {{"folders\xff", {"a", "\xfe"}}, {"number", 3}};
  const std::string text = metadata_text(value);
  EXPECT_NO_THROW(json::parse(text));
  EXPECT_EQ(metadata_value(text), value);
  EXPECT_THROW(metadata_value("[1, 2"), json::parse_error);
}

TEST(MetadataJson, WhatIsNestedTooDeeplyIsLeftOut) {
  constexpr std::size_t kDepth = 200'000;  // more than a stack takes
  EXPECT_TRUE(metadata_value(std::string(kDepth, '[') + std::string(kDepth, ']')).is_array());
  std::string objects;
  for (std::size_t i = 0; i < kDepth; ++i) objects += R"({"a":)";
  EXPECT_TRUE(metadata_value(objects + "1" + std::string(kDepth, '}')).is_object());
  const json ours = {{"a", {{"b", {{"c", {1, 2}}}}}}};
  EXPECT_EQ(metadata_value(ours.dump()), ours);
}

}  // namespace
}  // namespace evener::weights
