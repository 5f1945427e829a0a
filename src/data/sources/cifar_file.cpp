#include "data/sources/cifar_file.h"

#include <algorithm>
#include <string>

#include "base/error.h"
#include "data/sources/byte_reader.h"

namespace evener::data {

namespace {

constexpr std::size_t kRecordBytes10 = 1 + kCifarImageBytes, kRecordBytes100 = 2 + kCifarImageBytes;
constexpr std::uint8_t kCoarseClasses = 20;
constexpr std::uint64_t kMaxBytes = std::uint64_t{1} << 32;  // the published files have 30 and 150 MB

CifarKind kind_of(std::size_t size, CifarKind preferred) {
  const bool fits_10 = size % kRecordBytes10 == 0, fits_100 = size % kRecordBytes100 == 0;
  if (fits_10 && fits_100) return preferred;
  if (fits_10) return CifarKind::kCifar10;
  if (fits_100) return CifarKind::kCifar100;
  throw Error("it holds " + std::to_string(size) + " bytes, which is no whole number of records of " +
              std::to_string(kRecordBytes10) + " bytes (CIFAR-10) or " + std::to_string(kRecordBytes100) +
              " bytes (CIFAR-100): cut short, or another kind of file");
}

void check_label(const char* what, std::size_t record, std::uint8_t label, std::size_t count) {
  if (label < count) return;
  throw Error("record " + std::to_string(record) + " has the " + what + " " + std::to_string(label) + "; 0 to " +
              std::to_string(count - 1) + " are possible: damaged, or another kind of file");
}

void check_labels(const CifarRecords& records) {
  const bool is_100 = records.kind == CifarKind::kCifar100;
  for (std::size_t i = 0; i < records.size(); ++i) {
    check_label(is_100 ? "fine label" : "label", i, records.label(i), class_count(records.kind));
    if (is_100) check_label("coarse label", i, records.bytes[i * records.record_bytes()], kCoarseClasses);
  }
}

}  // namespace

std::size_t class_count(CifarKind kind) {
  return kind == CifarKind::kCifar10 ? 10 : 100;
}

CifarRecords parse_cifar(std::string_view file, CifarKind preferred) {
  if (file.empty()) throw Error("the file is empty");
  ByteReader reader(file);
  CifarRecords records;
  const std::uint64_t limit = std::min(reader.possible_bytes(), kMaxBytes);
  const std::uint64_t got = reader.read_values(limit, records.bytes);
  std::uint8_t more = 0;
  if (got == limit && reader.read(&more, 1) != 0) throw Error("it holds more than 4 GB, which is not accepted");
  records.bytes.resize(got);
  if (records.bytes.empty()) throw Error("it holds no data");
  records.kind = kind_of(records.bytes.size(), preferred);
  check_labels(records);
  return records;
}

}  // namespace evener::data
