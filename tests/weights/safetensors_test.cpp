#include "weights/safetensors.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>

#include "base/error.h"
#include "base/files.h"
#include "base/test_folder.h"

namespace evener::weights {
namespace {

using test::TestFolder;
using testing::AllOf;
using testing::HasSubstr;
namespace fs = std::filesystem;

TensorMap some_tensors() {
  TensorMap tensors;
  tensors["conv1.weight"] = HostTensor::of_floats({2, 1, 1, 3}, {1, 2, 3, 4, 5, 6});
  tensors["bn1.num_batches_tracked"] = HostTensor::scalar_i64(42);
  tensors["empty"] = HostTensor::of_floats({0, 5}, {});
  tensors["bytes"] = {DType::kU8, {3}, {std::byte{1}, std::byte{2}, std::byte{3}}};
  tensors["half"] = {DType::kBF16, {1}, {std::byte{0}, std::byte{63}}};
  return tensors;
}

std::string file_of(const std::string& header, const std::string& data) {
  const std::uint64_t length = header.size();
  std::string bytes(sizeof length, '\0');
  std::memcpy(bytes.data(), &length, sizeof length);
  return bytes + header + data;
}

// The refusal of a file made of `header` and `data_bytes` zero bytes.
std::string refusal(const std::string& header, std::size_t data_bytes) {
  const TestFolder folder;
  test::write_text(folder / "bad.safetensors", file_of(header, std::string(data_bytes, '\0')));
  std::string metadata_refusal = "metadata was read";
  try {
    read_safetensors_metadata(folder / "bad.safetensors");
  } catch (const Error& error) {
    metadata_refusal = error.what();
  }
  try {
    read_safetensors(folder / "bad.safetensors");
  } catch (const Error& error) {
    EXPECT_EQ(metadata_refusal, error.what());
    EXPECT_THAT(error.what(), HasSubstr("bad.safetensors"));
    return error.what();
  }
  return "it was read";
}

std::string one_tensor(const std::string& dtype, const std::string& shape, const std::string& offsets) {
  return R"({"w":{"dtype":)" + dtype + R"(,"shape":)" + shape + R"(,"data_offsets":)" + offsets + "}}";
}

TEST(Safetensors, RoundTripKeepsEverything) {
  const TestFolder folder;
  const Metadata metadata = {{"epoch", "3"}, {"model", "resnet18 \"x\" \n é"}};
  write_safetensors(folder / "a.safetensors", some_tensors(), metadata);
  const SafetensorsFile file = read_safetensors(folder / "a.safetensors");
  EXPECT_EQ(file.tensors, some_tensors());
  EXPECT_EQ(file.metadata, metadata);
  EXPECT_EQ(read_safetensors_metadata(folder / "a.safetensors"), metadata);
  EXPECT_EQ(test::file_count(folder.path()), 1);
}

TEST(Safetensors, AnEmptyFileOfTensorsIsLegal) {
  const TestFolder folder;
  write_safetensors(folder / "a", {});
  EXPECT_TRUE(read_safetensors(folder / "a").tensors.empty());
}

// The layout that the format's own library writes: aligned data, larger elements first.
TEST(Safetensors, WritesTheDocumentedLayout) {
  const TestFolder folder;
  write_safetensors(folder / "a", {{"u", {DType::kU8, {1}, {std::byte{7}}}}, {"x", HostTensor::of_floats({1}, {1})}});
  const std::string bytes = read_file(folder / "a");
  std::uint64_t length = 0;
  std::memcpy(&length, bytes.data(), sizeof length);
  EXPECT_EQ(length % 8, 0U);
  ASSERT_EQ(bytes.size(), 8 + length + 5);
  float x = 0;
  std::memcpy(&x, bytes.data() + 8 + length, sizeof x);
  EXPECT_EQ(x, 1.0F);
  EXPECT_EQ(bytes.back(), 7);
  EXPECT_THAT(bytes, HasSubstr(R"("x":{"data_offsets":[0,4],"dtype":"F32","shape":[1]})"));
}

TEST(Safetensors, ReadsAHeaderPaddedWithSpacesInAnyOrder) {
  const TestFolder folder;
  const std::string header =
      R"({"b":{"dtype":"U8","shape":[2],"data_offsets":[1,3]},"a":{"dtype":"U8","shape":[],"data_offsets":[0,1]}}   )";
  test::write_text(folder / "a", file_of(header, "xyz"));
  const auto file = read_safetensors(folder / "a");
  EXPECT_EQ(file.tensors.at("a").bytes, std::vector<std::byte>{std::byte{'x'}});
  EXPECT_EQ(file.tensors.at("b").bytes, (std::vector<std::byte>{std::byte{'y'}, std::byte{'z'}}));
}

TEST(Safetensors, EveryCutIsNoticed) {
  const TestFolder folder;
  write_safetensors(folder / "whole", some_tensors(), {{"epoch", "3"}});
  const std::string whole = read_file(folder / "whole");
  for (std::size_t length = 0; length < whole.size(); ++length) {
    test::write_text(folder / "cut", whole.substr(0, length));
    EXPECT_THROW(read_safetensors(folder / "cut"), Error) << "cut after " << length << " bytes";
    EXPECT_THROW(read_safetensors_metadata(folder / "cut"), Error) << "cut after " << length << " bytes";
  }
  test::write_text(folder / "longer", whole + "x");
  EXPECT_THROW(read_safetensors(folder / "longer"), Error);
}

TEST(Safetensors, AnyChangedHeaderByteIsReadOrRefusedButNeverCrashes) {
  const TestFolder folder;
  write_safetensors(folder / "whole", some_tensors());
  const std::string whole = read_file(folder / "whole");
  int refused = 0;
  for (std::size_t at = 0; at < whole.size() - 37;  // the data has 37 bytes
       ++at) {
    for (const char c : {'\0', '9', '"', '}', '\xff'}) {
      std::string changed = whole;
      changed[at] = c;
      test::write_text(folder / "changed", changed);
      try {
        read_safetensors(folder / "changed");
      } catch (const Error&) {
        ++refused;
      }
    }
  }
  EXPECT_GT(refused, 1000);
}

TEST(Safetensors, RefusesOtherFiles) {
  const TestFolder folder;
  test::write_text(folder / "text", "This is a text, not a file of weights.");
  EXPECT_THROW(read_safetensors(folder / "text"), Error);
  test::write_text(folder / "empty", "");
  try {
    read_safetensors(folder / "empty");
    FAIL();
  } catch (const Error& error) {
    EXPECT_THAT(error.what(), HasSubstr("only 0 bytes"));
  }
  EXPECT_THROW(read_safetensors(folder / "missing"), Error);
}

TEST(Safetensors, RefusesHeadersThatAreTooLong) {
  const TestFolder folder;
  std::string bytes(1000, ' ');
  const std::uint64_t lengths[] = {993, 100'000'001, ~std::uint64_t{0}, std::uint64_t{1} << 63};
  for (const std::uint64_t length : lengths) {
    std::memcpy(bytes.data(), &length, sizeof length);
    test::write_text(folder / "long", bytes);
    try {
      read_safetensors(folder / "long");
      ADD_FAILURE() << length;
    } catch (const Error& error) {
      EXPECT_THAT(error.what(), HasSubstr(length == 993 ? "only 992 follow" : "more than the 100000000 allowed"));
    }
  }
}

TEST(Safetensors, RefusesWhatIsNotATable) {
  EXPECT_THAT(refusal("[]", 0), HasSubstr("does not start with '{'"));
  EXPECT_THAT(refusal("", 0), HasSubstr("does not start with '{'"));
  EXPECT_THAT(refusal("{\"w\":", 0), HasSubstr("not valid JSON"));
  EXPECT_THAT(refusal("{} x", 0), HasSubstr("not valid JSON"));
  EXPECT_THAT(refusal("{\"\xff\":1}", 0), HasSubstr("not valid JSON"));
  EXPECT_THAT(refusal(R"({"w":3})", 0), HasSubstr("'w' is not described by a table"));
  EXPECT_THAT(refusal(R"({"__metadata__":{"a":1}})", 0), HasSubstr("'a' that is not a text"));
  EXPECT_THAT(refusal(R"({"__metadata__":[]})", 0), HasSubstr("not a table of texts"));
}

TEST(Safetensors, RefusesDeepNestingWithoutBuildingIt) {
  EXPECT_THAT(refusal("{\"w\":" + std::string(100000, '['), 0), HasSubstr("nested too deeply"));
}

TEST(Safetensors, RefusesDoubleNames) {
  const std::string entry = R"("w":{"dtype":"U8","shape":[0],"data_offsets":[0,0]})";
  EXPECT_THAT(refusal("{" + entry + "," + entry + "}", 0), HasSubstr("names 'w' twice"));
}

TEST(Safetensors, RefusesIncompleteEntries) {
  EXPECT_THAT(refusal(R"({"w":{"shape":[1],"data_offsets":[0,1]}})", 1), HasSubstr("has no 'dtype'"));
  EXPECT_THAT(refusal(R"({"w":{"dtype":"U8","data_offsets":[0,1]}})", 1), HasSubstr("has no 'shape'"));
  EXPECT_THAT(refusal(R"({"w":{"dtype":"U8","shape":[1]}})", 1), HasSubstr("has no 'data_offsets'"));
  EXPECT_THAT(refusal(R"({"w":{"dtype":"U8","shape":[1],"data_offsets":[0,1],"x":1}})", 1),
              HasSubstr("unknown key 'x'"));
}

TEST(Safetensors, RefusesBadTypesShapesAndOffsets) {
  EXPECT_THAT(refusal(one_tensor("\"F23\"", "[1]", "[0,4]"), 4), HasSubstr("did you mean 'F32'?"));
  EXPECT_THAT(refusal(one_tensor("7", "[1]", "[0,4]"), 4), HasSubstr("element type '7'"));
  EXPECT_THAT(refusal(one_tensor("\"U8\"", "[-1]", "[0,1]"), 1), HasSubstr("extent of -1"));
  EXPECT_THAT(refusal(one_tensor("\"U8\"", "[1.0]", "[0,1]"), 1), HasSubstr("extent of 1.0"));
  EXPECT_THAT(refusal(one_tensor("\"U8\"", "[18446744073709551615]", "[0,1]"), 1), HasSubstr("extent of"));
  EXPECT_THAT(refusal(one_tensor("\"U8\"", "3", "[0,1]"), 1), HasSubstr("not a list"));
  EXPECT_THAT(refusal(one_tensor("\"U8\"", "[1]", "[0]"), 1), HasSubstr("not two whole numbers"));
  EXPECT_THAT(refusal(one_tensor("\"U8\"", "[1]", "[-1,0]"), 1), HasSubstr("not two whole numbers"));
  EXPECT_THAT(refusal(one_tensor("\"U8\"", "[1]", "[1,0]"), 1), HasSubstr("ends before it begins"));
}

TEST(Safetensors, RefusesSizesThatDisagree) {
  EXPECT_THAT(refusal(one_tensor("\"F32\"", "[2]", "[0,4]"), 4),
              AllOf(HasSubstr("shape 2"), HasSubstr("needs 8 bytes"), HasSubstr("has 4")));
  // Products that wrap around to the right size must not pass: 2^62 * 4 elements = 2^64, and 2^62 * 8 bytes.
  EXPECT_THAT(refusal(one_tensor("\"U8\"", "[4611686018427387904,4]", "[0,0]"), 0), HasSubstr("elements"));
  EXPECT_THAT(refusal(one_tensor("\"F64\"", "[4611686018427387904]", "[0,0]"), 0), HasSubstr("more than 2^61"));
}

TEST(Safetensors, RefusesDataThatDoesNotCoverTheFile) {
  EXPECT_THAT(refusal(one_tensor("\"U8\"", "[8]", "[0,8]"), 7), HasSubstr("cut short"));
  EXPECT_THAT(refusal(one_tensor("\"U8\"", "[8]", "[0,8]"), 9), HasSubstr("1 bytes follow the last tensor"));
  EXPECT_THAT(refusal(one_tensor("\"U8\"", "[8]", "[1,9]"), 9), HasSubstr("hole of 1 bytes"));
  EXPECT_THAT(refusal(one_tensor("\"U8\"", "[0]", "[18446744073709551615,18446744073709551615]"), 0),
              HasSubstr("cut short"));
  const std::string overlap = R"({"a":{"dtype":"U8","shape":[4],"data_offsets":[0,4]},)"
                              R"("b":{"dtype":"U8","shape":[4],"data_offsets":[2,6]}})";
  EXPECT_THAT(refusal(overlap, 6), HasSubstr("'b' overlaps"));
}

TEST(Safetensors, WillNotWriteWhatItCouldNotRead) {
  const TestFolder folder;
  HostTensor short_one = HostTensor::of_floats({2}, {1, 2});
  short_one.bytes.pop_back();
  EXPECT_THROW(write_safetensors(folder / "a", {{"w", short_one}}), Error);
  EXPECT_THROW(write_safetensors(folder / "a", {{"__metadata__", HostTensor::scalar_i64(1)}}), Error);
  EXPECT_THROW(write_safetensors(folder / "a", {{"\xff", HostTensor::scalar_i64(1)}}), Error);
  EXPECT_EQ(test::file_count(folder.path()), 0);
}

TEST(Safetensors, AFullDiskLeavesNothing) {
  const test::SmallDisk disk("size=256k");
  if (!disk.problem().empty()) GTEST_SKIP() << disk.problem();
  const HostTensor large = HostTensor::of_floats({1 << 17}, std::vector<float>(1 << 17, 1));
  EXPECT_THROW(write_safetensors(disk.path() / "a", {{"w", large}}), Error);
  EXPECT_EQ(test::file_count(disk.path()), 0);
}

TEST(Safetensors, TensorsOfOtherTypesAreNamedAndTheOthersRead) {
  struct Type {
    const char* name;
    std::size_t bytes;  // of six elements
  };
  for (const Type& type : {Type{"BOOL", 6},
                           {"F8_E4M3", 6},
                           {"F8_E5M2", 6},
                           {"F8_E8M0", 6},
                           {"I16", 12},
                           {"U16", 12},
                           {"U32", 24},
                           {"U64", 48},
                           {"C64", 48},
                           {"F4", 3},
                           {"F6_E2M3", 5},
                           {"F6_E3M2", 5}}) {
    const TestFolder folder;
    const std::string end = std::to_string(type.bytes), last = std::to_string(type.bytes + 4);
    const std::string header = R"({"mask":{"dtype":")" + std::string(type.name) +
                               R"(","shape":[2,3],"data_offsets":[0,)" + end +
                               R"(]},"w":{"dtype":"F32","shape":[1],"data_offsets":[)" + end + "," + last + "]}}";
    test::write_text(folder / "a.safetensors", file_of(header, std::string(type.bytes + 4, '\0')));
    const SafetensorsFile file = read_safetensors(folder / "a.safetensors");
    EXPECT_EQ(file.tensors, (TensorMap{{"w", HostTensor::of_floats({1}, {0})}})) << type.name;
    ASSERT_EQ(file.passed_over.size(), 1U) << type.name;
    EXPECT_EQ(file.passed_over[0].name, "mask");
    EXPECT_EQ(file.passed_over[0].type, type.name);
    EXPECT_EQ(file.passed_over[0].shape, (std::vector<std::int64_t>{2, 3}));
    EXPECT_EQ(read_safetensors_layout(folder / "a.safetensors").tensors.size(), 1U);
    EXPECT_THAT(refusal(one_tensor("\"" + std::string(type.name) + "\"", "[2,3]", "[0," + last + "]"), type.bytes + 4),
                AllOf(HasSubstr("tensor 'w'"), HasSubstr(type.name), HasSubstr("needs " + end + " bytes")));
  }
  EXPECT_THAT(refusal(one_tensor("\"F3\"", "[1]", "[0,1]"), 1), AllOf(HasSubstr("'w'"), HasSubstr("'F3'")));
}

TEST(Safetensors, MetadataMayBeNull) {
  const TestFolder folder;
  test::write_text(folder / "a.safetensors", file_of(R"({"__metadata__":null})", ""));
  EXPECT_TRUE(read_safetensors(folder / "a.safetensors").metadata.empty());
}

}  // namespace
}  // namespace evener::weights
