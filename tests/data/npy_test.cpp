// NumPy's array files, also damaged ones.
#include "data/npy.h"

#include <gmock/gmock.h>

#include <cstring>
#include <filesystem>
#include <fstream>

#include "base/error.h"
#include "data/open/samples.h"

namespace evener::data {
namespace {

using testing::HasSubstr;

/// A file of version 1 as NumPy writes it.
std::string npy(const std::string& header, const std::string& data) {
  std::string file = "\x93NUMPY";
  file += {'\x01', '\x00', static_cast<char>(header.size() & 255), static_cast<char>(header.size() >> 8)};
  return file + header + data;
}

std::string floats(const std::vector<float>& values) {
  return {reinterpret_cast<const char*>(values.data()), values.size() * sizeof(float)};
}

const std::string kHeader = "{'descr': '<f4', 'fortran_order': False, 'shape': (2, 3), }   \n";

std::string failure(const std::string& file) {
  try {
    parse_npy(file);
    return "";
  } catch (const Error& error) {
    return error.what();
  }
}

TEST(Npy, ReadsAnArray) {
  const HostTensor array = parse_npy(npy(kHeader, floats({0, 1, 2, 3, 4, 5})));
  EXPECT_EQ(array.shape, (std::vector<std::int64_t>{2, 3}));
  EXPECT_EQ(array.floats()[5], 5);
}

TEST(Npy, HeadersOfLaterVersionsHaveLongerLengths) {
  const std::string values = floats({0, 1, 2, 3, 4, 5});
  for (const char version : {'\x02', '\x03'}) {
    std::string file = "\x93NUMPY";
    file += {version, '\x00', static_cast<char>(kHeader.size()), '\x00', '\x00', '\x00'};
    const HostTensor array = parse_npy(file + kHeader + values);
    EXPECT_EQ(array.shape, (std::vector<std::int64_t>{2, 3}));
    EXPECT_EQ(array.floats()[5], 5);
  }
}

TEST(Npy, SaysWhatIsWrong) {
  const std::string good = npy(kHeader, floats({0, 1, 2, 3, 4, 5}));
  EXPECT_THAT(failure("PK\x03\x04 and more than twelve bytes"), HasSubstr("no .npy"));
  EXPECT_THAT(failure(good.substr(0, 30)), HasSubstr("cut short"));
  EXPECT_THAT(failure(good.substr(0, good.size() - 1)), HasSubstr("24 bytes, but the file has 23"));
  EXPECT_THAT(failure(npy("{'descr': '<c8', 'fortran_order': False, 'shape': (1,), }\n", "12345678")),
              HasSubstr("'<c8'"));
  EXPECT_THAT(failure(npy("{'descr': '<f4', 'fortran_order': True, 'shape': (1,), }\n", "1234")),
              HasSubstr("column by column"));
  EXPECT_THAT(failure(npy("{'descr': '<f4', 'shape': (99999999999, 99999999999, 9), 'fortran_order': False}", "")),
              HasSubstr("too large"));
  EXPECT_THAT(failure(npy("{'fortran_order': False, 'descr': '<f4'}", "")), HasSubstr("'shape'"));
  EXPECT_THAT(failure(npy("{'descr': '<f4', 'fortran_order': False, 'shape': (-1,), }", "")), HasSubstr("damaged"));
}

TEST(Npy, AnArrayIsSamples) {
  const auto path = std::filesystem::temp_directory_path() / "evener-samples.npy";
  std::ofstream(path, std::ios::binary) << npy(kHeader, floats({0, 1, 2, 3, 4, 5}));
  const auto samples = array_samples(path.string());
  EXPECT_EQ(samples->size(), 2u);
  EXPECT_FALSE(samples->is_bytes());
  std::vector<float> row(3);
  samples->read(1, std::span(row));
  EXPECT_EQ(row, (std::vector<float>{3, 4, 5}));
  std::filesystem::remove(path);
}

}  // namespace
}  // namespace evener::data
