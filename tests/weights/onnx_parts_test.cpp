// The files beside an ONNX file that its tensors lie in, and damaged ones.
#include "weights/onnx_parts.h"

#include <gmock/gmock.h>

#include <nlohmann/json.hpp>

#include "base/error.h"
#include "base/files.h"
#include "base/test_folder.h"
#include "weights/metadata_json.h"

namespace evener::weights {
namespace {

using namespace std::string_literals;
using testing::AllOf;
using testing::HasSubstr;

/// A field of bytes, as protocol buffers write it.
std::string field(int number, const std::string& content) {
  std::string bytes(1, static_cast<char>(number << 3 | 2));
  std::size_t length = content.size();
  for (; length >= 128; length >>= 7) bytes += static_cast<char>(length | 128);
  return bytes + static_cast<char>(length) + content;
}

std::string entry(const std::string& key, const std::string& value) {
  return field(13, field(1, key) + field(2, value));
}

std::string tensor(const std::string& name) {
  return field(8, name) + entry("location", "m.data") + entry("offset", "16") + entry("length", "84");
}

std::string failure(const std::filesystem::path& onnx) {
  try {
    require_external_data(onnx);
  } catch (const Error& error) {
    return error.what();
  }
  return "";
}

TEST(OnnxParts, TensorsOfTheGraphOfNodesAndOfGraphsWithinThem) {
  const std::string inner = field(5, tensor("inner"));
  const std::string nodes = field(1, field(5, field(5, tensor("attribute")))) + field(1, field(5, field(6, inner)));
  const std::string onnx = "\x08\x08"s + field(7, nodes + field(5, tensor("w")) + field(5, field(8, "inside")));
  std::vector<std::string> names;
  for (const ExternalTensor& one : external_tensors(onnx)) {
    names.push_back(one.name);
    EXPECT_EQ(one.file, "m.data");
    EXPECT_EQ(one.offset, 16U);
    EXPECT_EQ(one.bytes, 84U);
  }
  EXPECT_THAT(names, testing::UnorderedElementsAre("attribute", "inner", "w"));
}

TEST(OnnxParts, AMissingOrShortFileIsNamed) {
  const test::TestFolder folder;
  test::write_text(folder / "m.onnx", "\x08\x08"s + field(7, field(5, tensor("w"))));
  EXPECT_THAT(failure(folder / "m.onnx"), AllOf(HasSubstr("m.onnx"), HasSubstr("'m.data'"), HasSubstr("is missing")));
  test::write_text(folder / "m.data", std::string(99, 'x'));
  EXPECT_THAT(failure(folder / "m.onnx"),
              AllOf(HasSubstr("'m.data'"), HasSubstr("'w' ends at byte 100"), HasSubstr("the file has 99")));
  test::write_text(folder / "m.data", std::string(100, 'x'));
  EXPECT_EQ(failure(folder / "m.onnx"), "");
  EXPECT_EQ(failure(folder / "none.onnx"), "") << "whoever opens it tells that";
}

TEST(OnnxParts, DamagedFilesEndTheList) {
  const std::string whole = "\x08\x08"s + field(7, field(5, tensor("w")));
  for (std::size_t size = 0; size < whole.size(); ++size) external_tensors(whole.substr(0, size));
  std::string bytes = whole;
  for (char& byte : bytes) {
    byte = static_cast<char>(~byte);
    external_tensors(bytes);
    byte = static_cast<char>(~byte);
  }
  std::string nested = field(5, tensor("w"));
  for (int i = 0; i < 1000; ++i) nested = field(1, field(5, field(6, nested)));
  EXPECT_EQ(external_tensors(field(7, nested)).size(), 1U) << "a thousand graphs within each other";
}

// JSON in the metadata of files of weights: whatever bytes its strings are, and whoever made it.

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
