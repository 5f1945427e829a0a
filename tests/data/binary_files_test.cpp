// IDX files (MNIST's format) and CIFAR's, as bytes and as data.
#include "data/sources/binary_files.h"

#include <gmock/gmock.h>

#include "base/error.h"
#include "data/data_helpers.h"
#include "data/open/open_data.h"
#include "data/open/pictures.h"

namespace evener::data {
namespace {

using namespace test;
using ::testing::Each;
using ::testing::HasSubstr;
using ::testing::SizeIs;

constexpr std::uint32_t kIdxImages = 0x803, kIdxLabels = 0x801;

/// `count` images of 2x3 pixels, all of one image with its number as value, and labels 0 1 2 0 1 2 ...
std::string images(std::uint32_t count) {
  std::string values;
  for (std::uint32_t i = 0; i < count; ++i) values.append(6, static_cast<char>(i));
  return idx_file(kIdxImages, {count, 2, 3}, values);
}
std::string labels(std::uint32_t count) {
  std::string values;
  for (std::uint32_t i = 0; i < count; ++i) values += static_cast<char>(i % 3);
  return idx_file(kIdxLabels, {count}, values);
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
  write_bytes(images_path, idx_file(kIdxImages, {9, 0, 3}, ""));
  EXPECT_THAT(open_error(), HasSubstr("3x0 pixels"));
  write_bytes(images_path, images(9));
  write_bytes(labels_path, idx_file(kIdxLabels, {9}, std::string(9, '\0')));
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
  EXPECT_THAT(reason(idx_file(kIdxImages, {0xFFFFFFFF, 0xFFFFFFFF, 0xFFFFFFFF}, "x")), HasSubstr("can hold"));
  EXPECT_THAT(reason(gzipped(idx_file(kIdxImages, {0xFFFFFFFF, 0xFFFFFFFF, 0xFFFFFFFF}, "x"))), HasSubstr("can hold"));
  EXPECT_THAT(reason(idx_file(kIdxImages, {5, 2, 3}, std::string(29, 'x'))), HasSubstr("5x2x3 values"));
  EXPECT_THAT(reason(idx_file(kIdxImages, {1, 2, 3}, std::string(7, 'x'))), HasSubstr("more data than"));
  EXPECT_THAT(reason(gzipped(idx_file(kIdxImages, {1, 2, 3}, std::string(7, 'x')))), HasSubstr("more data than"));
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
  const std::string letters = idx_file(kIdxLabels, {6}, std::string("\1\2\3\1\2\3", 6));
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

/// Records with the given labels (of CIFAR-100 coarse ones of 1); the pixels of record i are i, i + 1 and i + 2.
std::string records(const std::vector<int>& labels, bool is_100 = false) {
  std::string file;
  for (std::size_t i = 0; i < labels.size(); ++i) {
    if (is_100) file += '\1';
    file += static_cast<char>(labels[i]);
    for (std::size_t c = 0; c < 3; ++c) file.append(1024, static_cast<char>(i + c));
  }
  return file;
}

std::string refusal_of_cifar(std::string_view file) {
  return error_of([file] { parse_cifar(file); });
}

DataOptions cifar_options(const std::filesystem::path& location) {
  DataOptions options;
  options.location = location.string();
  options.split = {50, 50};
  return options;
}

TEST(Cifar, TellsTheKindByTheLength) {
  const CifarRecords ten = parse_cifar(records({3, 9, 0}));
  EXPECT_EQ(ten.kind, CifarKind::kCifar10);
  ASSERT_EQ(ten.size(), 3u);
  EXPECT_EQ(ten.label(1), 9);
  EXPECT_EQ(ten.image(2)[1024], 3);
  const CifarRecords hundred = parse_cifar(gzipped(records({99, 4}, true)));
  EXPECT_EQ(hundred.kind, CifarKind::kCifar100);
  EXPECT_EQ(hundred.label(0), 99);
  EXPECT_EQ(hundred.image(1)[0], 1);
}

TEST(Cifar, RefusesOtherFiles) {
  EXPECT_THAT(refusal_of_cifar(""), HasSubstr("empty"));
  EXPECT_THAT(refusal_of_cifar(records({1, 2}).substr(1)), HasSubstr("holds 6145 bytes"));
  EXPECT_THAT(refusal_of_cifar(records({1, 10})), HasSubstr("record 1 has the label 10; 0 to 9 are possible"));
  EXPECT_THAT(refusal_of_cifar(records({1, 100}, true)), HasSubstr("record 1 has the fine label 100"));
  std::string coarse = records({1}, true);
  coarse[0] = 20;
  EXPECT_THAT(refusal_of_cifar(coarse), HasSubstr("coarse label 20"));
  const std::string packed = gzipped(records({1}));
  EXPECT_THAT(refusal_of_cifar(packed.substr(0, packed.size() / 2)), HasSubstr("cut short"));
}

TEST(Cifar, ReadsAFolderWithItsPartsAndNames) {
  const TemporaryFolder folder;
  write_bytes(folder / "data_batch_1.bin", records({0, 1, 2, 3}));
  write_bytes(folder / "data_batch_2.bin.gz", gzipped(records({0, 1, 2, 3})));
  write_bytes(folder / "test_batch.bin", records({7}));
  write_bytes(folder / "batches.meta.txt",
              "\xEF\xBB\xBF"
              "a\nb\nc\nd\ne\nf\ng\nh\r\ni\r\nj\n\n");
  const OpenedData opened = open_data(cifar_options(folder.path()));
  EXPECT_EQ(opened.kind, "CIFAR-10 files");
  EXPECT_EQ(opened.dataset->shape(), (ImageShape{3, 32, 32}));
  EXPECT_THAT(opened.split.train, SizeIs(4));
  EXPECT_THAT(opened.split.val, SizeIs(4));
  ASSERT_THAT(opened.split.test, SizeIs(1));
  EXPECT_EQ(label_of(*opened.dataset, opened.split.test[0]), 7);
  EXPECT_EQ(opened.dataset->classes()[7], "h");
  EXPECT_THAT(opened.dataset->source(5), HasSubstr("data_batch_2.bin.gz#1"));
  std::vector<std::uint8_t> pixels(3072);
  opened.dataset->read(5, pixels);
  EXPECT_EQ(pixels[0], 1);
  EXPECT_EQ(pixels[3071], 3);
}

TEST(Cifar, RefusesImagesOrOtherFilesBesideIt) {
  const TemporaryFolder folder;
  write_bytes(folder / "data_batch_1.bin", records({0, 1, 2, 3}));
  write_bytes(folder / "previews/1.png", plain_png(2, 2, {1}));
  EXPECT_EQ(open_data(cifar_options(folder.path())).dataset->size(), 4u);
  write_bytes(folder / "Test/a/1.png", plain_png(2, 2, {1}));
  const auto error = [&] { return error_of([&] { open_data(cifar_options(folder.path())); }); };
  EXPECT_THAT(error(), ::testing::AllOf(HasSubstr("has CIFAR files and images in '"), HasSubstr("/Test'")));
  std::filesystem::remove_all(folder / "Test");
  write_bytes(folder / "t10k-images-idx3-ubyte", "");
  EXPECT_THAT(error(), HasSubstr("has IDX files and CIFAR files"));
}

TEST(Cifar, BringsImagesToAnotherShape) {
  const TemporaryFolder folder;
  write_bytes(folder / "some.bin", records({0, 1, 2, 3, 4}));
  DataOptions options = cifar_options(folder / "some.bin");
  options.width = options.height = 8;
  options.channels = 1;
  const OpenedData opened = open_data(options);
  EXPECT_EQ(opened.split.train.size() + opened.split.val.size(), 5u);
  std::vector<std::uint8_t> pixels(64);
  opened.dataset->read(4, pixels);
  EXPECT_THAT(pixels, Each(5));  // luma of (4, 5, 6)
}

TEST(Cifar, NamesTheFileThatCantBeUsed) {
  const TemporaryFolder folder;
  write_bytes(folder / "data_batch_1.bin", records({0, 1}));
  write_bytes(folder / "test_batch.bin", records({0, 1}, true));
  const auto error = [&] { return error_of([&] { open_data(cifar_options(folder.path())); }); };
  EXPECT_THAT(error(), HasSubstr("one is of CIFAR-10 and the other of CIFAR-100"));
  write_bytes(folder / "test_batch.bin", "short");
  EXPECT_THAT(error(), ::testing::AllOf(HasSubstr("test_batch.bin"), HasSubstr("holds 5 bytes")));
  write_bytes(folder / "test_batch.bin", records({0, 1}));
  write_bytes(folder / "batches.meta.txt", "one\ntwo\n");
  EXPECT_THAT(error(), HasSubstr("has 2 names, but the data has 10 classes"));
}

TEST(Cifar, PythonVersionIsNamedWithWhatToTake) {
  const TemporaryFolder folder;
  const auto told = ::testing::AllOf(HasSubstr("CIFAR's Python version"), HasSubstr("cifar-10-binary.tar.gz"),
                                     HasSubstr("evener data fetch cifar10"), ::testing::Not(HasSubstr("put the")));
  const auto errors = [&](const std::string& location) {
    EXPECT_THAT(error_of([&] { open_data(cifar_options(folder / location)); }), told) << location;
  };
  for (const char* name : {"data_batch_1", "test_batch", "batches.meta"}) {
    write_bytes(folder / "cifar-10-batches-py" / name, "\x80\x02}q\x01");
  }
  for (const char* name : {"train", "test", "meta"}) write_bytes(folder / "100" / name, "\x80\x04}q\x01");
  for (const char* location : {"cifar-10-batches-py", "100", ".", "cifar-10-batches-py/data_batch_1"}) errors(location);
  EXPECT_THAT(error_of([&] { Pictures({(folder / "100").string()}); }), told) << "as data info says it";
  write_bytes(folder / "cifar-100-python.tar.gz", "\x1f\x8b");
  errors("cifar-100-python.tar.gz");
  write_bytes(folder / "more/photos.zip", "PK");
  write_bytes(folder / "more/notes.txt", "");
  EXPECT_THAT(error_of([&] { open_data(cifar_options(folder / "more")); }),
              HasSubstr("photos.zip' is an archive: unpack it"));
}

TEST(Cifar, TellsClassesThatNoRecordHas) {
  const TemporaryFolder folder;
  write_bytes(folder / "data_batch_1.bin", records({0, 1, 2, 3, 4, 5, 6, 7, 8, 0}));
  EXPECT_THAT(open_data(cifar_options(folder.path())).notes, ::testing::ElementsAre(HasSubstr("the class '9' has no")));
}

}  // namespace
}  // namespace evener::data
