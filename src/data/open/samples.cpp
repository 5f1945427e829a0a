#include "data/open/samples.h"

#include <cstring>
#include <type_traits>
#include <utility>

#include "base/error.h"
#include "base/phase.h"
#include "base/random.h"
#include "base/tensor.h"
#include "data/npy.h"
#include "weights/safetensors.h"

namespace evener::data {
namespace {

class PictureSamples : public Samples {
 public:
  PictureSamples(Pictures pictures, const Preprocessing& steps)
      : pictures_(std::move(pictures)),
        steps_(steps),
        shape_({steps.shape.channels, steps.shape.height, steps.shape.width}) {}

  std::size_t size() const override { return pictures_.size(); }
  const std::vector<std::int64_t>& shape() const override { return shape_; }
  bool is_bytes() const override { return true; }
  bool has(std::size_t index) const override { return pictures_.has(index); }
  const Pictures* pictures() const override { return &pictures_; }
  std::string name(std::size_t index) const override { return pictures_.source(index); }
  void read(std::size_t index, std::span<std::uint8_t> values) const override {
    Picture picture = pictures_.read(index);
    const PhaseMark mark(Phase::kDecode);
    preprocess(std::move(picture), steps_, values);
  }

 private:
  const Pictures pictures_;
  const Preprocessing steps_;
  const std::vector<std::int64_t> shape_;
};

class DatasetSamples : public Samples {
 public:
  DatasetSamples(std::shared_ptr<const Dataset> dataset, std::vector<std::uint32_t> indices,
                 std::vector<std::int32_t> classes)
      : dataset_(std::move(dataset)), indices_(std::move(indices)), classes_(std::move(classes)) {
    const ImageShape shape = dataset_->shape();
    shape_ = {shape.channels, shape.height, shape.width};
  }

  std::size_t size() const override { return indices_.size(); }
  const std::vector<std::int64_t>& shape() const override { return shape_; }
  bool is_bytes() const override { return true; }
  std::string name(std::size_t index) const override { return dataset_->source(indices_[index]); }
  std::optional<std::int32_t> label(std::size_t index) const override {
    if (dataset_->target_kind() != TargetKind::kClasses) return std::nullopt;
    const std::int32_t label = label_of(*dataset_, indices_[index]);
    return classes_.empty() ? label : classes_.at(static_cast<std::size_t>(label));
  }
  void read(std::size_t index, std::span<std::uint8_t> values) const override {
    dataset_->read(indices_[index], values);
  }

 private:
  const std::shared_ptr<const Dataset> dataset_;
  const std::vector<std::uint32_t> indices_;
  const std::vector<std::int32_t> classes_;
  std::vector<std::int64_t> shape_;
};

class ArraySamples : public Samples {
 public:
  ArraySamples(std::string path, HostTensor array) : path_(std::move(path)), array_(std::move(array)) {
    if (array_.shape.size() < 2 || array_.shape.front() < 1 || element_count(array_.shape) < 1) {
      throw Error("'" + path_ + "' holds an array " + shape_text(array_.shape) +
                  "; the first extent has to count the samples, as in N x 3 x 224 x 224");
    }
    shape_.assign(array_.shape.begin() + 1, array_.shape.end());
    if (!is_bytes()) array_ = array_.to_floats();
  }

  std::size_t size() const override { return static_cast<std::size_t>(array_.shape.front()); }
  const std::vector<std::int64_t>& shape() const override { return shape_; }
  bool is_bytes() const override { return array_.dtype == DType::kU8; }
  std::string name(std::size_t index) const override { return "#" + std::to_string(index); }
  void read(std::size_t index, std::span<std::uint8_t> values) const override { copy(index, values); }
  void read(std::size_t index, std::span<float> values) const override { copy(index, values); }

 private:
  template <class T>
  void copy(std::size_t index, std::span<T> values) const {
    if (std::is_same_v<T, std::uint8_t> != is_bytes()) return Samples::read(index, values);  // which throws
    std::memcpy(values.data(), array_.bytes.data() + index * values.size_bytes(), values.size_bytes());
  }

  const std::string path_;
  HostTensor array_;
  std::vector<std::int64_t> shape_;
};

class ChannelsFirst : public Samples {
 public:
  explicit ChannelsFirst(std::unique_ptr<Samples> samples) : samples_(std::move(samples)) {
    const std::vector<std::int64_t>& stored = samples_->shape();
    shape_ = {stored.at(2), stored.at(0), stored.at(1)};
  }

  std::size_t size() const override { return samples_->size(); }
  const std::vector<std::int64_t>& shape() const override { return shape_; }
  bool is_bytes() const override { return samples_->is_bytes(); }
  std::string name(std::size_t index) const override { return samples_->name(index); }
  void read(std::size_t index, std::span<std::uint8_t> values) const override { transpose(index, values); }
  void read(std::size_t index, std::span<float> values) const override { transpose(index, values); }

 private:
  template <class T>
  void transpose(std::size_t index, std::span<T> values) const {
    std::vector<T> stored(values.size());
    samples_->read(index, std::span(stored));
    const auto channels = static_cast<std::size_t>(shape_[0]);
    const std::size_t pixels = values.size() / channels;
    for (std::size_t c = 0; c < channels; ++c) {
      for (std::size_t pixel = 0; pixel < pixels; ++pixel) values[c * pixels + pixel] = stored[pixel * channels + c];
    }
  }

  const std::unique_ptr<Samples> samples_;
  std::vector<std::int64_t> shape_;
};

class RandomSamples : public Samples {
 public:
  RandomSamples(std::size_t count, std::vector<std::int64_t> shape, std::uint64_t seed)
      : count_(count), shape_(std::move(shape)), seed_(seed) {}

  std::size_t size() const override { return count_; }
  const std::vector<std::int64_t>& shape() const override { return shape_; }
  bool is_bytes() const override { return true; }
  std::string name(std::size_t index) const override { return "#" + std::to_string(index); }
  void read(std::size_t index, std::span<std::uint8_t> values) const override {
    Random random(seed_, Purpose::kSynthetic, index);
    std::size_t i = 0;
    for (; i + 8 <= values.size(); i += 8) {
      const std::uint64_t eight = random.next();
      std::memcpy(values.data() + i, &eight, 8);
    }
    for (; i < values.size(); ++i) values[i] = static_cast<std::uint8_t>(random.next());
  }

 private:
  const std::size_t count_;
  const std::vector<std::int64_t> shape_;
  const std::uint64_t seed_;
};

HostTensor array_in(const std::string& path) {
  if (!path.ends_with(".safetensors")) return read_npy(path);
  weights::SafetensorsFile file = weights::read_safetensors(path);
  TensorMap& tensors = file.tensors;
  const auto found = tensors.size() == 1 ? tensors.begin() : tensors.find("images");
  if (found == tensors.end() && tensors.empty() && !file.passed_over.empty()) {
    throw Error("'" + path + "' has tensor " + quoted_text(file.passed_over.front().name) + " of type " +
                file.passed_over.front().type + "; images of U8, F16, BF16, F32 and F64 are read");
  }
  if (found == tensors.end()) {
    throw Error("'" + path + "' holds " + std::to_string(tensors.size()) +
                " tensors, and none is called 'images': give a file with the images alone");
  }
  return std::move(found->second);
}

}  // namespace

void Samples::read(std::size_t /*index*/, std::span<std::uint8_t> /*values*/) const {
  throw Error("samples of floats were read as bytes");
}

void Samples::read(std::size_t /*index*/, std::span<float> /*values*/) const {
  throw Error("samples of bytes were read as floats");
}

std::unique_ptr<Samples> picture_samples(Pictures pictures, const Preprocessing& steps) {
  return std::make_unique<PictureSamples>(std::move(pictures), steps);
}

std::unique_ptr<Samples> dataset_samples(std::shared_ptr<const Dataset> dataset, std::vector<std::uint32_t> indices,
                                         std::vector<std::int32_t> classes) {
  return std::make_unique<DatasetSamples>(std::move(dataset), std::move(indices), std::move(classes));
}

std::unique_ptr<Samples> array_samples(const std::string& path) {
  return std::make_unique<ArraySamples>(path, array_in(path));
}

std::unique_ptr<Samples> channels_first(std::unique_ptr<Samples> samples) {
  return std::make_unique<ChannelsFirst>(std::move(samples));
}

std::unique_ptr<Samples> random_samples(std::size_t count, std::vector<std::int64_t> shape, std::uint64_t seed) {
  return std::make_unique<RandomSamples>(count, std::move(shape), seed);
}

}  // namespace evener::data
