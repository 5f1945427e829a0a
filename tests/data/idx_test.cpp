// IDX files, plain and gzipped, whole and damaged.
#include <gmock/gmock.h>

#include "base/error.h"
#include "data/data_helpers.h"
#include "data/open/open_data.h"
#include "data/sources/binary_files.h"

namespace evener::data {
namespace {

using namespace test;
using ::testing::HasSubstr;
using ::testing::SizeIs;

constexpr std::uint32_t kImages = 0x803, kLabels = 0x801;

/// `count` images of 2x3 pixels, all of one image with its number as value, and labels 0 1 2 0 1 2 ...
std::string images(std::uint32_t count) {
  std::string values;
  for (std::uint32_t i = 0; i < count; ++i) values.append(6, static_cast<char>(i));
  return idx_file(kImages, {count, 2, 3}, values);
}
std::string labels(std::uint32_t count) {
  std::string values;
  for (std::uint32_t i = 0; i < count; ++i) values += static_cast<char>(i % 3);
  return idx_file(kLabels, {count}, values);
}

class Idx : public ::testing::Test {
 protected:
  OpenedData open(std::vector<double> split = {}) const {
    DataOptions options;
    options.location = folder_.path().string();
    options.split = std::move(split);
    return open_data(options);
  }
  std::string open_error() const {
    return error_of([this] { open(); });
  }
  void write_train(std::uint32_t count) const {
    write_bytes(folder_ / "train-images-idx3-ubyte", images(count));
    write_bytes(folder_ / "train-labels-idx1-ubyte", labels(count));
  }

  TemporaryFolder folder_;
};

TEST_F(Idx, ReadsTrainingAndTestFilesInAnySpelling) {
  write_bytes(folder_ / "train-images-idx3-ubyte.gz", gzipped(images(60)));
  write_bytes(folder_ / "train-labels.idx1-ubyte", labels(60));
  write_bytes(folder_ / "t10k-images.idx3-ubyte.gz", gzipped(images(9)));
  write_bytes(folder_ / "t10k-labels-idx1-ubyte", labels(9));
  const OpenedData opened = open();
  EXPECT_EQ(opened.kind, "IDX files");
  EXPECT_EQ(opened.dataset->shape(), (ImageShape{1, 2, 3}));
  EXPECT_THAT(opened.dataset->classes(), ::testing::ElementsAre("0", "1", "2"));
  // 85 : 2 of the training files, at least one of each class.
  EXPECT_THAT(opened.split.train, SizeIs(57));
  EXPECT_THAT(opened.split.val, SizeIs(3));
  EXPECT_THAT(opened.split.test, SizeIs(9));
  EXPECT_EQ(opened.split.test.front(), 60u);
  std::vector<std::uint8_t> pixels(6);
  opened.dataset->read(68, pixels);
  EXPECT_EQ(pixels[5], 8);
  EXPECT_EQ(label_of(*opened.dataset, 68), 2);
  EXPECT_THAT(opened.dataset->source(68), HasSubstr("t10k-images.idx3-ubyte.gz#8"));
  EXPECT_THAT(open({90, 10}).split.val, SizeIs(6));
  EXPECT_THAT(open({100, 0}).split.val, SizeIs(0));
  EXPECT_THROW(open({0, 0, 100}), UsageError);
}

TEST_F(Idx, HasNothingToDecodeFast) {
  write_train(30);
  DataOptions options;
  options.location = folder_.path().string();
  EXPECT_THAT(open_data(options).notes, SizeIs(0));
  options.decode = DecodeMode::kFast;
  EXPECT_THAT(open_data(options).notes, ::testing::ElementsAre(HasSubstr("--decode fast changes nothing")));
}

TEST_F(Idx, DividesTrainingFilesAloneLikeAnyOtherData) {
  write_train(300);
  const OpenedData opened = open();
  EXPECT_THAT(opened.split.train, SizeIs(255));
  EXPECT_THAT(opened.split.val, SizeIs(6));
  EXPECT_THAT(opened.split.test, SizeIs(39));
}

TEST_F(Idx, BringsImagesToAnotherShape) {
  write_train(9);
  DataOptions options;
  options.location = folder_.path().string();
  options.width = 12;
  options.height = 8;
  options.channels = 3;
  const OpenedData opened = open_data(options);
  std::vector<std::uint8_t> pixels(3 * 12 * 8);
  opened.dataset->read(7, pixels);
  EXPECT_THAT(pixels, ::testing::Each(7));
}

TEST_F(Idx, NamesTheFileAndTheValuesThatAreWrong) {
  write_train(9);
  const auto images_path = folder_ / "train-images-idx3-ubyte", labels_path = folder_ / "train-labels-idx1-ubyte";
  write_bytes(images_path, labels(9));
  EXPECT_THAT(open_error(), HasSubstr(images_path.string()));
  EXPECT_THAT(open_error(), HasSubstr("wrong magic number 0x00000801, expected 0x00000803"));
  write_bytes(images_path, images(8));
  EXPECT_THAT(open_error(), HasSubstr("8 images"));
  EXPECT_THAT(open_error(), HasSubstr("9 labels"));
  write_bytes(images_path, idx_file(kImages, {9, 0, 3}, ""));
  EXPECT_THAT(open_error(), HasSubstr("3x0 pixels"));
  write_bytes(images_path, images(9));
  write_bytes(labels_path, idx_file(kLabels, {9}, std::string(9, '\0')));
  EXPECT_THAT(open_error(), HasSubstr("only one class"));
  std::filesystem::remove(labels_path);
  EXPECT_THAT(open_error(), HasSubstr("needs 'train-labels-idx1-ubyte'"));
}

TEST(IdxFile, IsRefusedWhenCutShortAnywhere) {
  for (const std::string& whole : {images(20), gzipped(images(20))}) {
    EXPECT_THAT(parse_idx(whole, 3).values, SizeIs(120));
    for (std::size_t length = 0; length < whole.size(); ++length) {
      // A gzip file's last 8 bytes are its checksum and length, which must be there too.
      EXPECT_THROW(parse_idx(std::string_view(whole).substr(0, length), 3), Error) << length << " of " << whole.size();
    }
  }
}

TEST(IdxFile, IsRefusedWhenItsNumbersAreAbsurd) {
  const auto reason = [](const std::string& file) { return error_of([&] { parse_idx(file, 3); }); };
  EXPECT_THAT(reason(idx_file(kImages, {0xFFFFFFFF, 0xFFFFFFFF, 0xFFFFFFFF}, "x")), HasSubstr("can hold"));
  EXPECT_THAT(reason(gzipped(idx_file(kImages, {0xFFFFFFFF, 0xFFFFFFFF, 0xFFFFFFFF}, "x"))), HasSubstr("can hold"));
  EXPECT_THAT(reason(idx_file(kImages, {5, 2, 3}, std::string(29, 'x'))), HasSubstr("5x2x3 values"));
  EXPECT_THAT(reason(idx_file(kImages, {1, 2, 3}, std::string(7, 'x'))), HasSubstr("more data than"));
  EXPECT_THAT(reason(gzipped(idx_file(kImages, {1, 2, 3}, std::string(7, 'x')))), HasSubstr("more data than"));
  EXPECT_THAT(reason(""), HasSubstr("empty"));
}

TEST(IdxFile, IsRefusedWhenItsGzipDataIsDamaged) {
  std::string file = gzipped(images(200));
  file[file.size() / 2] = static_cast<char>(file[file.size() / 2] ^ 0xFF);
  EXPECT_THAT(error_of([&] { parse_idx(file, 3); }), HasSubstr("damaged gzip data"));
}

TEST(IdxFile, MayHaveSeveralGzipMembers) {
  const std::string whole = images(20);
  const std::string file = gzipped(std::string_view(whole).substr(0, 50)) + gzipped(std::string_view(whole).substr(50));
  EXPECT_EQ(parse_idx(file, 3).values, parse_idx(whole, 3).values);
}

TEST_F(Idx, ReadsOtherSetsByWhatStandsBeforeTheirNames) {
  const std::string letters = idx_file(kLabels, {6}, std::string("\1\2\3\1\2\3", 6));
  write_bytes(folder_ / "emnist-letters-train-images-idx3-ubyte.gz", gzipped(images(6)));
  write_bytes(folder_ / "emnist-letters-train-labels-idx1-ubyte.gz", gzipped(letters));
  write_bytes(folder_ / "emnist-letters-test-images-idx3-ubyte.gz", gzipped(images(6)));
  write_bytes(folder_ / "emnist-letters-test-labels-idx1-ubyte.gz", gzipped(letters));
  const OpenedData opened = open();
  EXPECT_EQ(opened.dataset->size(), 12u);
  EXPECT_THAT(opened.split.test, SizeIs(6));
  EXPECT_THAT(opened.dataset->classes(), SizeIs(4));
  EXPECT_THAT(opened.notes,
              ::testing::ElementsAre(HasSubstr("the class '0' has no image"), HasSubstr("rows and columns exchanged")));
  write_train(6);
  EXPECT_THAT(open_error(), ::testing::AllOf(HasSubstr("the IDX files of 2 sets"), HasSubstr("'train-images...'"),
                                             HasSubstr("'emnist-letters-train-images...'")));
}

TEST_F(Idx, ReadsFilesInFoldersOfTheirNames) {
  write_bytes(folder_ / "train-images-idx3-ubyte/train-images-idx3-ubyte", images(6));
  write_bytes(folder_ / "train-labels-idx1-ubyte/train-labels.idx1-ubyte", labels(6));
  EXPECT_EQ(open().dataset->size(), 6u);
  write_bytes(folder_ / "train-images.idx3-ubyte", images(9));
  write_bytes(folder_ / "train-labels.idx1-ubyte.gz", gzipped(labels(9)));
  EXPECT_EQ(open().dataset->size(), 9u) << "those that lie in no folder";
}

TEST_F(Idx, AreNamedWhereTheyCantBeRead) {
  write_bytes(folder_ / "mine/images-idx3-ubyte", images(6));
  EXPECT_THAT(open_error(), ::testing::AllOf(HasSubstr("mine/images-idx3-ubyte' seems to be an IDX file"),
                                             HasSubstr("train-labels-idx1-ubyte"), HasSubstr("rename it")));
  std::filesystem::create_directories(folder_ / "MNIST");
  std::filesystem::rename(folder_ / "mine", folder_ / "MNIST/raw");
  write_bytes(folder_ / "MNIST/raw/train-images-idx3-ubyte", images(6));
  EXPECT_THAT(open_error(), HasSubstr("MNIST/raw' has IDX files: give that folder"));
}

}  // namespace
}  // namespace evener::data
