// Zip archives: what Python's zipfile and PyTorch write, and hostile ones. Archives are made by hand here.
#include "weights/zip_reader.h"

#include <gmock/gmock.h>
#include <zlib.h>

#include <cstring>

#include "base/error.h"

namespace evener::weights {
namespace {

using namespace std::string_literals;
using testing::HasSubstr;

template <class T>
std::string le(T value) {
  std::string bytes(sizeof value, '\0');
  std::memcpy(bytes.data(), &value, sizeof value);
  return bytes;
}
std::string u16(std::size_t value) {
  return le(static_cast<std::uint16_t>(value));
}
std::string u32(std::size_t value) {
  return le(static_cast<std::uint32_t>(value));
}

struct Item {
  std::string name, data;  // as it lies in the archive
  std::size_t size;        // unpacked
  int method = 0;
  int flags = 0;
  bool zip64 = false;
};

Item stored(const std::string& name, const std::string& data) {
  return {name, data, data.size()};
}

Item deflated(const std::string& name, const std::string& data) {
  std::string packed(data.size() + 100, '\0');
  z_stream stream{};
  deflateInit2(&stream, 9, Z_DEFLATED, -MAX_WBITS, 8, Z_DEFAULT_STRATEGY);
  stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(data.data()));
  stream.avail_in = static_cast<uInt>(data.size());
  stream.next_out = reinterpret_cast<Bytef*>(packed.data());
  stream.avail_out = static_cast<uInt>(packed.size());
  deflate(&stream, Z_FINISH);
  packed.resize(stream.total_out);
  deflateEnd(&stream);
  return {name, packed, data.size(), 8};
}

std::string entry_of(const Item& item, std::size_t header) {
  const std::string extra = item.zip64 ? u16(1) + u16(24) + le(std::uint64_t{item.size}) +
                                             le(std::uint64_t{item.data.size()}) + le(std::uint64_t{header})
                                       : "";
  const auto field = [&](std::size_t value) { return u32(item.zip64 ? 0xffffffff : value); };
  return u32(0x02014b50) + u16(20) + u16(20) + u16(item.flags) + u16(item.method) + u32(0) + u32(0) +
         field(item.data.size()) + field(item.size) + u16(item.name.size()) + u16(extra.size()) + u16(0) + u16(0) +
         u16(0) + u32(0) + field(header) + item.name + extra;
}

std::string archive(const std::vector<Item>& items, bool zip64 = false, const std::string& comment = "") {
  std::string bytes, directory;
  for (const Item& item : items) {
    directory += entry_of(item, bytes.size());
    const std::string padding = u16(0x4246) + u16(3) + "ZZZ";  // an extra field that the directory doesn't have
    bytes += u32(0x04034b50) + u16(20) + u16(item.flags) + u16(item.method) + std::string(16, '\0') +
             u16(item.name.size()) + u16(padding.size()) + item.name + padding + item.data;
  }
  const std::size_t at = bytes.size();
  bytes += directory;
  if (zip64) {
    const std::size_t end64 = bytes.size();
    bytes += u32(0x06064b50) + le(std::uint64_t{44}) + std::string(12, '\0') + le(std::uint64_t{0}) +
             le(std::uint64_t{items.size()}) + le(std::uint64_t{directory.size()}) + le(std::uint64_t{at});
    bytes += u32(0x07064b50) + u32(0) + le(std::uint64_t{end64}) + u32(1);
  }
  const auto field = [&](std::size_t value) { return u32(zip64 ? 0xffffffff : value); };
  return bytes + u32(0x06054b50) + u16(0) + u16(0) + u16(zip64 ? 0xffff : items.size()) +
         u16(zip64 ? 0xffff : items.size()) + field(directory.size()) + field(at) + u16(comment.size()) + comment;
}

std::string content(const std::string& bytes, const std::string& name) {
  const ZipReader reader(bytes);
  std::string buffer;
  const ZipEntry* entry = reader.find(name);
  return entry == nullptr ? "none" : std::string(reader.read(*entry, buffer));
}

std::string refusal(const std::string& bytes) {
  try {
    const ZipReader reader(bytes);
    std::string buffer;
    for (const ZipEntry& entry : reader.entries()) reader.read(entry, buffer);
  } catch (const Error& error) {
    return error.what();
  }
  return "it was read";
}

TEST(ZipReader, ReadsStoredAndDeflatedEntries) {
  const std::string bytes = archive({stored("b/x", "hello"), deflated("a", std::string(100, 'z')), stored("c", "")});
  EXPECT_EQ(content(bytes, "b/x"), "hello");
  EXPECT_EQ(content(bytes, "a"), std::string(100, 'z'));
  EXPECT_EQ(content(bytes, "c"), "");
  EXPECT_EQ(content(bytes, "d"), "none");
}

TEST(ZipReader, ReadsZip64AndComments) {
  Item item = stored("x", "hello");
  item.zip64 = true;
  EXPECT_EQ(content(archive({item, stored("y", "more")}, true), "x"), "hello");
  EXPECT_EQ(content(archive({stored("x", "hello")}, false, "a comment PK\x05\x06 with a mark"), "x"), "hello");
}

TEST(ZipReader, RefusesWhatDoesNotFit) {
  const std::string good = archive({stored("x", "hello"), deflated("y", "some text")});
  EXPECT_EQ(refusal(good), "it was read");
  for (std::size_t size = 0; size < good.size(); ++size)
    EXPECT_NE(refusal(good.substr(0, size)), "it was read") << size;
  EXPECT_THAT(refusal(archive({stored("x", "1"), stored("x", "2")})), HasSubstr("'x' twice"));
  Item item = stored("x", "hello");
  item.flags = 1;
  EXPECT_THAT(refusal(archive({item})), HasSubstr("encrypted"));
  item = stored("x", "hello");
  item.method = 14;
  EXPECT_THAT(refusal(archive({item})), HasSubstr("method 14"));
  item = stored("x", "hello");
  item.size = 6;
  EXPECT_THAT(refusal(archive({item})), HasSubstr("two different sizes"));
  item = deflated("x", "hello");
  item.size = 4;
  EXPECT_THAT(refusal(archive({item})), HasSubstr("damaged"));
  item.size = 6;
  EXPECT_THAT(refusal(archive({item})), HasSubstr("damaged"));
}

TEST(ZipReader, ArchivesThatUnpackToTooMuchAreRefused) {
  EXPECT_THAT(refusal(archive({deflated("x", std::string(100'000'000, '\0'))})), HasSubstr("64 times"));
  Item item = stored("x", "hello");
  item.zip64 = true;
  std::string bytes = archive({item}, true);
  const std::string size = le(std::uint64_t{5});
  for (std::size_t at = bytes.find(size); at != std::string::npos; at = bytes.find(size, at + 1)) {
    bytes.replace(at, 8, le(~std::uint64_t{0}));
  }
  EXPECT_THAT(refusal(bytes), HasSubstr("longer than the file"));
}

}  // namespace
}  // namespace evener::weights
