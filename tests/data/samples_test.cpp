// Samples of arrays and of datasets, as networks are given them; and why one of them failed.
#include "data/open/samples.h"

#include <gmock/gmock.h>

#include <new>
#include <numeric>

#include "base/error.h"
#include "data/data_helpers.h"
#include "data/skipped.h"
#include "weights/safetensors.h"

namespace evener::data {
namespace {

using namespace test;
using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

/// A .npy file with the values 0, 1, 2, ...
template <class Value>
std::string counted_npy(const std::string& type, const std::string& shape, std::size_t count) {
  std::vector<Value> values(count);
  std::iota(values.begin(), values.end(), Value{0});
  const std::string header = "{'descr': '" + type + "', 'fortran_order': False, 'shape': " + shape + ", }";
  std::string file = "\x93NUMPY";
  file += {'\x01', '\x00', static_cast<char>(header.size()), '\x00'};
  return file + header + std::string(reinterpret_cast<const char*>(values.data()), count * sizeof(Value));
}

template <class Value>
std::vector<Value> values_of(const Samples& samples, std::size_t index, std::size_t count) {
  std::vector<Value> values(count);
  samples.read(index, std::span(values));
  return values;
}

class SamplesOfArrays : public ::testing::Test {
 protected:
  std::string saved(const std::string& name, const std::string& content) const {
    write_bytes(folder_.path() / name, content);
    return (folder_.path() / name).string();
  }
  std::string saved(const TensorMap& tensors) const {
    weights::write_safetensors(folder_.path() / "a.safetensors", tensors, {});
    return (folder_.path() / "a.safetensors").string();
  }
  const TemporaryFolder folder_;
};

// Two images of 2 rows, 4 columns and 3 channels, whose values lie side by side.
TEST_F(SamplesOfArrays, ChannelsThatComeLastAreBroughtToTheFront) {
  std::vector<int> expected;
  for (int channel = 0; channel < 3; ++channel) {
    for (int pixel = 0; pixel < 8; ++pixel) expected.push_back(24 + 3 * pixel + channel);
  }
  const auto bytes =
      channels_first(array_samples(saved("a.npy", counted_npy<std::uint8_t>("|u1", "(2, 2, 4, 3)", 48))));
  EXPECT_THAT(bytes->shape(), ElementsAre(3, 2, 4));
  EXPECT_EQ(bytes->size(), 2U);
  EXPECT_EQ(bytes->name(1), "#1");
  EXPECT_TRUE(bytes->is_bytes());
  EXPECT_THAT(values_of<std::uint8_t>(*bytes, 1, 24), ::testing::ElementsAreArray(expected));
  const auto floats = channels_first(array_samples(saved("b.npy", counted_npy<double>("<f8", "(2, 2, 4, 3)", 48))));
  EXPECT_FALSE(floats->is_bytes());
  EXPECT_THAT(values_of<float>(*floats, 1, 24), ::testing::ElementsAreArray(expected));
}

TEST_F(SamplesOfArrays, OfSeveralTensorsImagesAreTaken) {
  const HostTensor images = HostTensor::of_floats({2, 3}, {0, 1, 2, 3, 4, 5}),
                   other = HostTensor::of_floats({2}, {7, 8});
  EXPECT_THAT(values_of<float>(*array_samples(saved({{"images", images}, {"labels", other}})), 1, 3),
              ElementsAre(3, 4, 5));
  EXPECT_THAT(array_samples(saved({{"anything", images}}))->shape(), ElementsAre(3));
  EXPECT_THAT(error_of([&] {
                array_samples(saved({{"x", images}, {"labels", other}}));
              }),
              AllOf(HasSubstr("holds 2 tensors"), HasSubstr("none is called 'images'")));
  EXPECT_THAT(error_of([&] {
                array_samples(saved({{"images", other}}));
              }),
              AllOf(HasSubstr("a.safetensors' holds an array 2;"), HasSubstr("has to count the samples")));
}

TEST_F(SamplesOfArrays, AreNotReadAsValuesOfTheOtherType) {
  const auto bytes = array_samples(saved("a.npy", counted_npy<std::uint8_t>("|u1", "(2, 3)", 6)));
  const auto floats = array_samples(saved("b.npy", counted_npy<float>("<f4", "(2, 3)", 6)));
  EXPECT_EQ(error_of([&] { values_of<float>(*bytes, 0, 3); }), "samples of bytes were read as floats");
  EXPECT_EQ(error_of([&] { values_of<std::uint8_t>(*floats, 0, 3); }), "samples of floats were read as bytes");
  EXPECT_FALSE(bytes->has(2));
  EXPECT_TRUE(bytes->has(1));
}

TEST(SamplesOfDatasets, AreThoseThatAreNamedWithTheNetworksClasses) {
  const auto dataset = std::make_shared<CountingDataset>(6, ImageShape{1, 2, 3});
  const auto some = dataset_samples(dataset, {4, 1}, {9, 5});
  EXPECT_EQ(some->size(), 2U);
  EXPECT_THAT(some->shape(), ElementsAre(1, 2, 3));
  EXPECT_EQ(some->name(0), "#4");
  EXPECT_EQ(some->label(0), 9);
  EXPECT_EQ(some->label(1), 5);
  EXPECT_THAT(values_of<std::uint8_t>(*some, 0, 6), ::testing::Each(4));
  EXPECT_THAT(values_of<std::uint8_t>(*some, 1, 6), ::testing::Each(1));
  EXPECT_EQ(dataset_samples(dataset, {4, 1}, {})->label(1), 1) << "the data's own";
  const auto boxed = std::make_shared<BoxedDataset>(ImageShape{1, 2, 3}, std::vector<std::vector<LabelledBox>>(2));
  EXPECT_EQ(dataset_samples(boxed, {1}, {})->label(0), std::nullopt) << "an image with boxes is of no class";
}

TEST(SkippedFiles, FiveAreNamedAndTheOthersCounted) {
  std::vector<Skipped> skipped;
  EXPECT_EQ(first_skipped(skipped), "");
  for (const char* name : {"a", "b", "c", "d", "e"}) skipped.push_back({name, "bad"});
  EXPECT_EQ(first_skipped(skipped), "\n  a: bad\n  b: bad\n  c: bad\n  d: bad\n  e: bad");
  skipped.push_back({"f", "bad"});
  skipped.push_back({"g", "bad"});
  EXPECT_THAT(first_skipped(skipped), ::testing::EndsWith("\n  e: bad\n  and 2 more"));
}

TEST(SkippedFiles, AFailureIsToldAndAnInterruptionPassesOn) {
  EXPECT_EQ(failure_of([] {}, "read it"), "");
  EXPECT_EQ(failure_of([] { throw Error("lost"); }, "read it"), "lost");
  EXPECT_EQ(failure_of([] { throw std::bad_alloc(); }, "read it"), "not enough memory to read it");
  EXPECT_THROW(failure_of([] { throw Interrupted("stopped"); }, "read it"), Interrupted);
}

}  // namespace
}  // namespace evener::data
