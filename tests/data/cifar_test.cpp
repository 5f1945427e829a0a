// CIFAR's binary files: kinds, parts, names, and files that are not what they should be.
#include <gmock/gmock.h>

#include "base/error.h"
#include "data/data_helpers.h"
#include "data/open/open_data.h"
#include "data/open/pictures.h"
#include "data/sources/binary_files.h"

namespace evener::data {
namespace {

using namespace test;
using ::testing::Each;
using ::testing::HasSubstr;
using ::testing::SizeIs;

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

std::string reason(std::string_view file) {
  return error_of([file] { parse_cifar(file); });
}

DataOptions options_for(const std::filesystem::path& location) {
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
  EXPECT_THAT(reason(""), HasSubstr("empty"));
  EXPECT_THAT(reason(records({1, 2}).substr(1)), HasSubstr("holds 6145 bytes"));
  EXPECT_THAT(reason(records({1, 10})), HasSubstr("record 1 has the label 10; 0 to 9 are possible"));
  EXPECT_THAT(reason(records({1, 100}, true)), HasSubstr("record 1 has the fine label 100"));
  std::string coarse = records({1}, true);
  coarse[0] = 20;
  EXPECT_THAT(reason(coarse), HasSubstr("coarse label 20"));
  const std::string packed = gzipped(records({1}));
  EXPECT_THAT(reason(packed.substr(0, packed.size() / 2)), HasSubstr("cut short"));
}

TEST(Cifar, ReadsAFolderWithItsPartsAndNames) {
  const TemporaryFolder folder;
  write_bytes(folder / "data_batch_1.bin", records({0, 1, 2, 3}));
  write_bytes(folder / "data_batch_2.bin.gz", gzipped(records({0, 1, 2, 3})));
  write_bytes(folder / "test_batch.bin", records({7}));
  write_bytes(folder / "batches.meta.txt", "a\nb\nc\nd\ne\nf\ng\nh\r\ni\r\nj\n\n");
  const OpenedData opened = open_data(options_for(folder.path()));
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
  EXPECT_EQ(open_data(options_for(folder.path())).dataset->size(), 4u);
  write_bytes(folder / "Test/a/1.png", plain_png(2, 2, {1}));
  const auto error = [&] { return error_of([&] { open_data(options_for(folder.path())); }); };
  EXPECT_THAT(error(), ::testing::AllOf(HasSubstr("has CIFAR files and images in '"), HasSubstr("/Test'")));
  std::filesystem::remove_all(folder / "Test");
  write_bytes(folder / "t10k-images-idx3-ubyte", "");
  EXPECT_THAT(error(), HasSubstr("has IDX files and CIFAR files"));
}

TEST(Cifar, BringsImagesToAnotherShape) {
  const TemporaryFolder folder;
  write_bytes(folder / "some.bin", records({0, 1, 2, 3, 4}));
  DataOptions options = options_for(folder / "some.bin");
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
  const auto error = [&] { return error_of([&] { open_data(options_for(folder.path())); }); };
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
    EXPECT_THAT(error_of([&] { open_data(options_for(folder / location)); }), told) << location;
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
  EXPECT_THAT(error_of([&] { open_data(options_for(folder / "more")); }),
              HasSubstr("photos.zip' is an archive: unpack it"));
}

TEST(Cifar, TellsClassesThatNoRecordHas) {
  const TemporaryFolder folder;
  write_bytes(folder / "data_batch_1.bin", records({0, 1, 2, 3, 4, 5, 6, 7, 8, 0}));
  EXPECT_THAT(open_data(options_for(folder.path())).notes, ::testing::ElementsAre(HasSubstr("the class '9' has no")));
}

}  // namespace
}  // namespace evener::data
