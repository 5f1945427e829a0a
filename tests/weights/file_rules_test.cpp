// Bounds and orders that readers of weights keep: pickles, zip archives, ONNX's parts, safetensors.
#include <gmock/gmock.h>

#include <cstring>

#include "base/error.h"
#include "base/files.h"
#include "base/test_folder.h"
#include "weights/onnx_parts.h"
#include "weights/pickle.h"
#include "weights/safetensors.h"
#include "weights/torch_file.h"
#include "weights/weights_file.h"
#include "weights/zip_reader.h"

namespace evener::weights::file_rules {
namespace {

using namespace std::string_literals;
using pickle::Kind;
using pickle::Pickle;
using testing::ElementsAre;
using testing::HasSubstr;

template <class Act>
std::string refusal(const Act& act) {
  try {
    act();
  } catch (const Error& error) {
    return error.what();
  }
  return "it was read";
}

template <class T>
std::string le(T value) {
  std::string bytes(sizeof value, '\0');
  std::memcpy(bytes.data(), &value, sizeof value);
  return bytes;
}

// --- pickles ---------------------------------------------------------------------------------------------------------

/// The numbers of a tuple or list.
std::vector<std::int64_t> numbers_in(const std::string& bytes) {
  const Pickle read = pickle::parse("\x80\x02"s + bytes + ".", {});
  std::vector<std::int64_t> numbers;
  for (const pickle::Ref ref : read[read.root].items) numbers.push_back(read[ref].integer);
  return numbers;
}

TEST(PickleOpcodes, TakeTheirItemsInOrder) {
  EXPECT_THAT(numbers_in(")"), ElementsAre());
  EXPECT_THAT(numbers_in("K\x05\x85"), ElementsAre(5));
  EXPECT_THAT(numbers_in("K\x05K\x06\x86"), ElementsAre(5, 6));
  EXPECT_THAT(numbers_in("K\x05K\x06K\x07\x87"), ElementsAre(5, 6, 7));
  EXPECT_THAT(numbers_in("](K\x05K\x06"s + "eK\x07"s + "a"), ElementsAre(5, 6, 7)) << "more are added at the end";
  EXPECT_THAT(numbers_in("(K\xff"s + "M\xff\xffJ\xff\xff\xff\xff\x88\x89t"s), ElementsAre(255, 65535, -1, 1, 0));
  EXPECT_THAT(numbers_in("(\x8b\x01\0\0\0\x07\x8a\x08\0\0\0\0\0\0\0\x80t"s),
              ElementsAre(7, std::numeric_limits<std::int64_t>::min()));
  EXPECT_THAT(numbers_in("(K\x01(K\x02K\x03"s + "1K\x04t"), ElementsAre(1, 4)) << "up to the mark is dropped";
  EXPECT_THAT(numbers_in("(K\x01K\x02"s + "0t"), ElementsAre(1));
}

TEST(PickleOpcodes, RememberByNumberAndInTurn) {
  EXPECT_THAT(numbers_in("(K\x05q\x02K\x06q\x01K\x07q\x02h\x02h\x01t"), ElementsAre(5, 6, 7, 7, 6)) << "the last one";
  EXPECT_THAT(numbers_in("(K\x05\x94K\x06\x94h\x01h\0t"s), ElementsAre(5, 6, 6, 5));
  EXPECT_THAT(numbers_in("(K\x05r\0\1\0\0j\0\1\0\0t"s), ElementsAre(5, 5)) << "beyond a byte";
}

TEST(PickleValues, UnderAKeyAreTheLastOnes) {
  const std::string bytes = "\x80\x02}(U\x01"s + "aK\x05U\x01"s + "bK\x06U\x01"s + "aK\x07K\x08K\x09u.";
  const Pickle read = pickle::parse(bytes, {});
  EXPECT_EQ(read.find(read[read.root], "a")->integer, 7);
  EXPECT_EQ(read.find(read[read.root], "b")->integer, 6);
  EXPECT_EQ(read.find(read[read.root], ""), nullptr);
}

TEST(PickleNames, OfOthersAreToldOnceInTheirOrder) {
  const std::string_view known[] = {"torch.Size", "mine.known"};
  const Pickle read =
      pickle::parse("\x80\x02(cz\nb\nca\nb\ncz\nb\ncmine\nknown\ncmine\nknown2\nccollections\nOrderedDict\nt."s, known);
  EXPECT_THAT(read.foreign_names, ElementsAre("z.b", "a.b", "mine.known2"));
  std::vector<Kind> kinds;
  for (const pickle::Ref ref : read[read.root].items) kinds.push_back(read[ref].kind);
  EXPECT_THAT(
      kinds, ElementsAre(Kind::kForeign, Kind::kForeign, Kind::kForeign, Kind::kGlobal, Kind::kForeign, Kind::kGlobal));
  std::string names = "\x80\x02("s;
  for (int i = 0; i < 10'000; ++i) names += "cm\nn" + std::to_string(i) + "\n";
  EXPECT_EQ(pickle::parse(names + "t.", {}).foreign_names.size(), 10'000U);
  EXPECT_THAT(refusal([&] { pickle::parse(names + "cm\none\nt.", {}); }), HasSubstr("too many names"));
}

TEST(PickleProtocols, AreTwoToFive) {
  for (const char version : {'\2', '\3', '\4', '\5'}) EXPECT_EQ(pickle::parse("\x80"s + version + "N.", {}).size, 4U);
  EXPECT_THAT(refusal([] { pickle::parse("\x80\x06N.", {}); }), HasSubstr("protocol 6, not 2 to 5"));
}

TEST(PickleOrderedDicts, OfPairsKeepTheirOrderAndOthersAreRefused) {
  const std::string make = "\x80\x02"s + "ccollections\nOrderedDict\n";
  const Pickle read = pickle::parse(make + "]((K\x01K\x02tK\x03K\x04\x86"s + "e\x85R.", {});
  std::vector<std::int64_t> numbers;
  for (const pickle::Ref ref : read[read.root].items) numbers.push_back(read[ref].integer);
  EXPECT_THAT(numbers, ElementsAre(1, 2, 3, 4));
  const auto pairs = HasSubstr("something else than pairs");
  EXPECT_THAT(refusal([&] { pickle::parse(make + "]K\x01K\x02K\x03\x87"s + "a\x85R.", {}); }), pairs);
  EXPECT_THAT(refusal([&] { pickle::parse(make + "]]\x86R.", {}); }), pairs) << "two lists";
}

// --- zip archives ----------------------------------------------------------------------------------------------------

struct Stored {
  std::string name, data;
};

std::string u16(std::size_t value) {
  return le(static_cast<std::uint16_t>(value));
}
std::string u32(std::size_t value) {
  return le(static_cast<std::uint32_t>(value));
}

/// `wide_header`: where entries begin stands in zip64 fields alone, behind another program's field.
std::string archive(const std::vector<Stored>& items, bool wide_header = false) {
  std::string bytes, directory;
  for (const Stored& item : items) {
    const std::string extra =
        wide_header ? u16(0x5455) + u16(5) + "abcde" + u16(1) + u16(8) + le(static_cast<std::uint64_t>(bytes.size()))
                    : "";
    const std::string comment = "of an entry";
    directory += u32(0x02014b50) + std::string(6, '\0') + u16(0) + std::string(8, '\0') + u32(item.data.size()) +
                 u32(item.data.size()) + u16(item.name.size()) + u16(extra.size()) + u16(comment.size()) +
                 std::string(8, '\0') + u32(wide_header ? 0xffffffff : bytes.size()) + item.name + extra + comment;
    bytes += u32(0x04034b50) + std::string(22, '\0') + u16(item.name.size()) + u16(0) + item.name + item.data;
  }
  const std::size_t at = bytes.size();
  return bytes + directory + u32(0x06054b50) + u32(0) + u16(items.size()) + u16(items.size()) + u32(directory.size()) +
         u32(at) + u16(0);
}

TEST(ZipDirectories, OnlyTheFullFieldIsTakenFromZip64) {
  for (const bool wide : {false, true}) {
    const std::string bytes = archive({{"second", "data"}, {"first", "other data"}, {"third", ""}}, wide);
    const ZipReader reader(bytes);
    std::string unused;
    EXPECT_EQ(reader.read(*reader.find("first"), unused), "other data") << wide;
    EXPECT_EQ(reader.read(*reader.find("second"), unused), "data") << wide;
    std::vector<std::string> names;
    for (const ZipEntry& entry : reader.entries()) names.emplace_back(entry.name);
    EXPECT_THAT(names, ElementsAre("first", "second", "third"));
    EXPECT_EQ(reader.find("fir"), nullptr);
    EXPECT_EQ(reader.find("zzz"), nullptr);
  }
}

// A state dict with one tensor in the memory "0" of the archive's folder.
std::string zip_pickle(const std::string& name) {
  const auto text = [](const std::string& value) { return "X"s + u32(value.size()) + value; };
  return "\x80\x02}"s + text(name) + "ctorch._utils\n_rebuild_tensor_v2\n((" + text("storage") +
         "ctorch\nByteStorage\n" + text("0") + text("cpu") + "K\x03tQK\x01K\x02\x85K\x01\x85\x89"s + "}tRs.";
}

std::string torch_outcome(const std::vector<Stored>& items) {
  std::string names;
  const std::string why = refusal([&] {
    for (const auto& [name, tensor] : parse_torch_file(archive(items)).tensors) names += name;
  });
  return why == "it was read" ? names : why;
}

TEST(TorchArchives, HaveOnePickleNearTheTopAndItsMemory) {
  const Stored memory{"a/data/0", "xyz"};
  EXPECT_EQ(torch_outcome({{"a/data.pkl", zip_pickle("w")}, memory}), "w");
  EXPECT_EQ(torch_outcome({{"data.pkl", zip_pickle("w")}, {"data/0", "xyz"}}), "w") << "without a folder";
  EXPECT_EQ(torch_outcome({{"a/data.pkl", zip_pickle("w")}, memory, {"a/z/data.pkl", zip_pickle("v")}}), "w")
      << "one further inside is another";
  EXPECT_EQ(torch_outcome({{"a/data.pkl", zip_pickle("w")}, memory, {"a/byteorder", "little"}}), "w");
  EXPECT_THAT(torch_outcome({{"a/data.pkl", zip_pickle("w")}, memory, {"a/byteorder", "big"}}),
              HasSubstr("big-endian"));
  EXPECT_THAT(torch_outcome({{"a/data.pkl", zip_pickle("w")}}), HasSubstr("no entry 'a/data/0'"));
  EXPECT_THAT(torch_outcome({{"a/data.pkl", zip_pickle("w")}, {"a/data/0", "wxyz"}}),
              HasSubstr("should have 3 bytes, but has 4"));
  EXPECT_THAT(torch_outcome({{"a/data.pkl", zip_pickle("w")}, memory, {"a/constants.pkl", ""}}),
              HasSubstr("TorchScript"));
  EXPECT_THAT(torch_outcome({{"a/b/data.pkl", zip_pickle("w")}, memory}), HasSubstr("without a data.pkl"));
  EXPECT_THAT(torch_outcome({{"a/my_data.pkl", zip_pickle("w")}, memory}), HasSubstr("without a data.pkl"));
}

// --- the parts of ONNX files -----------------------------------------------------------------------------------------

std::string field(int number, const std::string& content) {
  std::string bytes(1, static_cast<char>(number << 3 | 2));
  std::size_t length = content.size();
  for (; length >= 128; length >>= 7) bytes += static_cast<char>(length | 128);
  return bytes + static_cast<char>(length) + content;
}
std::string entry(const std::string& key, const std::string& value) {
  return field(13, field(1, key) + field(2, value));
}

TEST(OnnxTensors, HaveTheirNumbersAndDefaultsWhateverLiesBetween) {
  const std::string others = "\x10\x96\x01"s + "\x19"s + std::string(8, 'x') + "\x25"s + std::string(4, 'y');
  const std::string first = others + entry("length", "7") + field(8, "first") + others + entry("location", "a.bin");
  const std::string second = entry("location", "b.bin") + entry("offset", "300") + field(8, std::string(200, 'n'));
  const std::string odd = field(8, "odd") + entry("location", "c.bin") + entry("offset", "-1") + entry("length", "x");
  const std::string onnx = others + field(7, others + field(5, first) + field(5, second) + field(5, odd));
  std::vector<std::string> told;
  for (const ExternalTensor& one : external_tensors(onnx)) {
    told.push_back(one.file + " " + std::to_string(one.name.size()) + " " + std::to_string(one.offset) + " " +
                   std::to_string(one.bytes));
  }
  EXPECT_THAT(told, ElementsAre("a.bin 5 0 7", "b.bin 200 300 0", "c.bin 3 0 0"));
}

TEST(OnnxTensors, MustLieWithinTheirFilesEachOfThem) {
  const test::TestFolder folder;
  const auto outcome = [&](const std::string& offset, const std::string& length) {
    const auto tensor = [](const std::string& name, const std::string& file, const std::string& begin,
                           const std::string& bytes) {
      return field(5, field(8, name) + entry("location", file) + entry("offset", begin) + entry("length", bytes));
    };
    test::write_text(folder / "m.onnx",
                     field(7, tensor("w", "a.bin", "0", "50") + tensor("v", "b.bin", offset, length)));
    return refusal([&] { require_external_data(folder / "m.onnx"); });
  };
  test::write_text(folder / "a.bin", std::string(50, 'x'));
  EXPECT_THAT(outcome("0", "1"), HasSubstr("'b.bin' beside it, which is missing"));
  test::write_text(folder / "b.bin", std::string(20, 'x'));
  EXPECT_EQ(outcome("13", "7"), "it was read");
  EXPECT_EQ(outcome("20", "0"), "it was read");
  EXPECT_THAT(outcome("14", "7"), HasSubstr("tensor 'v' ends at byte 21, and the file has 20"));
  EXPECT_THAT(outcome("21", "0"), HasSubstr("tensor 'v' ends at byte 21"));
  EXPECT_THAT(outcome("18446744073709551615", "1"), HasSubstr("too short")) << "the sum overflows";
}

// --- safetensors -----------------------------------------------------------------------------------------------------

std::string safetensors(const std::string& header, const std::string& data) {
  return le(static_cast<std::uint64_t>(header.size())) + header + data;
}

TEST(SafetensorsLayouts, TellWhereTheReadableTensorsLieInTheirOrder) {
  const test::TestFolder folder;
  const std::string header = R"({"a":{"dtype":"U8","shape":[3],"data_offsets":[9,12]},)"
                             R"("b":{"dtype":"BOOL","shape":[5],"data_offsets":[4,9]},)"
                             R"("c":{"dtype":"F32","shape":[1],"data_offsets":[0,4]},)"
                             R"("__metadata__":{"k":"v"}})";
  test::write_text(folder / "x", safetensors(header, "0123456789ab"));
  const SafetensorsLayout layout = read_safetensors_layout(folder / "x");
  ASSERT_EQ(layout.tensors.size(), 2U);
  EXPECT_EQ(layout.tensors[0].name, "c");
  EXPECT_EQ(layout.tensors[0].begin, 8 + header.size());
  EXPECT_EQ(layout.tensors[1].begin, 8 + header.size() + 9);
  EXPECT_EQ(layout.tensors[1].bytes, 3U);
  EXPECT_EQ(layout.metadata.at("k"), "v");
  ASSERT_NE(layout.find("a"), nullptr);
  EXPECT_EQ(layout.find("a")->dtype, DType::kU8);
  EXPECT_EQ(layout.find("b"), nullptr) << "not readable";
  const SafetensorsFile file = read_safetensors(folder / "x");
  EXPECT_EQ(file.tensors.at("a").bytes.front(), std::byte{'9'});
  ASSERT_EQ(file.passed_over.size(), 1U);
  EXPECT_EQ(file.passed_over[0].name + " " + file.passed_over[0].type, "b BOOL");
  EXPECT_EQ(read_safetensors_metadata(folder / "x").at("k"), "v");
}

TEST(SafetensorsSizes, OfPartsOfBytesAreRoundedUp) {
  const test::TestFolder folder;
  const auto outcome = [&](const std::string& type, int count, int bytes) {
    const std::string header = R"({"w":{"dtype":")" + type + R"(","shape":[)" + std::to_string(count) +
                               R"(],"data_offsets":[0,)" + std::to_string(bytes) + "]}}";
    test::write_text(folder / "x", safetensors(header, std::string(static_cast<std::size_t>(bytes), 'x')));
    return refusal([&] { read_safetensors(folder / "x"); });
  };
  EXPECT_EQ(outcome("F4", 5, 3), "it was read");
  EXPECT_EQ(outcome("F6_E2M3", 3, 3), "it was read");
  EXPECT_EQ(outcome("F6_E3M2", 4, 3), "it was read");
  EXPECT_THAT(outcome("F4", 5, 2), HasSubstr("needs 3 bytes"));
  EXPECT_THAT(outcome("F4", 4, 3), HasSubstr("needs 2 bytes"));
}

TEST(SafetensorsSizes, OfDescriptionsAreSums) {
  EXPECT_EQ(data_bytes({{"a", DType::kF32, {2, 3}}, {"b", DType::kI64, {}}, {"c", DType::kF16, {5}}}), 24U + 8 + 10);
  EXPECT_EQ(data_bytes({}), 0U);
}

// --- the kind of a file ----------------------------------------------------------------------------------------------

TEST(FileKinds, AreToldByTheirBeginnings) {
  const test::TestFolder folder;
  const auto told = [&](const std::string& bytes) {
    test::write_text(folder / "x", bytes);
    return refusal([&] { read_weights(folder / "x"); });
  };
  EXPECT_THAT(told("\x93NUMPY\1"), HasSubstr("a NumPy array"));
  EXPECT_THAT(told("GGUF\3"), HasSubstr("a GGUF model"));
  EXPECT_THAT(told(std::string(257, 'n') + "ustar"), HasSubstr("a tar archive"));
  EXPECT_THAT(told(std::string(256, 'n') + "ustar"), HasSubstr("a text"));
  EXPECT_THAT(told("\x1f\x8b\x08"), HasSubstr("gzip"));
  EXPECT_THAT(told("7767517\n12 3"), HasSubstr("ncnn"));
  EXPECT_THAT(told("\x89PNG\r\n"), HasSubstr("a PNG image"));
  EXPECT_THAT(told("\xff\xd8\xff\xe0"), HasSubstr("a JPEG image"));
  EXPECT_THAT(told("<?xml version"), HasSubstr("an XML file"));
  EXPECT_THAT(told("%PDF-1"), HasSubstr("a PDF document"));
  EXPECT_THAT(told("\xef\xbb\xbf\n<HTML><body>"), HasSubstr("is an HTML page, not a file of a network"));
  EXPECT_THAT(told("text with <html> in it"), HasSubstr("a text"));
  EXPECT_THAT(told("\x08\x07zzzz"), HasSubstr("of an unknown kind")) << "no producer follows";
  EXPECT_THAT(told(le(std::uint64_t{2}) + "{}"), HasSubstr("it was read"));
  EXPECT_THAT(told(le(std::uint64_t{1} << 32) + "{}"), HasSubstr("of an unknown kind"));
}

}  // namespace
}  // namespace evener::weights::file_rules
