// The input of a trained network: numbered samples of one shape, read one by one, in any order and from any thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "data/dataset.h"
#include "data/open/pictures.h"
#include "data/preprocess.h"

namespace evener::data {

/// Samples are bytes or floats, as is_bytes() says; the read() of the other type throws.
class Samples {
 public:
  virtual ~Samples() = default;
  virtual std::size_t size() const = 0;
  /// Whether sample `index` is there; of a camera it is waited for (Pictures::has).
  virtual bool has(std::size_t index) const { return index < size(); }
  /// The pictures that the samples are made of; nullptr where they are none.
  virtual const Pictures* pictures() const { return nullptr; }
  /// The camera or pipe; nullptr where there is none.
  const LiveFrames* live() const { return pictures() != nullptr ? pictures()->live() : nullptr; }
  /// The shape of one sample: (C, H, W) for images.
  virtual const std::vector<std::int64_t>& shape() const = 0;
  virtual bool is_bytes() const = 0;
  /// The file it comes from, or "#17".
  virtual std::string name(std::size_t index) const = 0;
  /// Its class, where that is known.
  virtual std::optional<std::int32_t> label(std::size_t index) const {
    static_cast<void>(index);
    return std::nullopt;
  }
  /// Writes the sample's values; thread-safe. Throws Error with the reason alone where it can't be read: callers list
  /// it and go on.
  virtual void read(std::size_t index, std::span<std::uint8_t> values) const;
  virtual void read(std::size_t index, std::span<float> values) const;
};

/// Image files, each preprocessed by `steps`.
std::unique_ptr<Samples> picture_samples(Pictures pictures, const Preprocessing& steps);

/// The samples `indices` of a dataset, in that order. `classes`: the network's class for each class of the dataset;
/// empty = they are the same.
std::unique_ptr<Samples> dataset_samples(std::shared_ptr<const Dataset> dataset, std::vector<std::uint32_t> indices,
                                         std::vector<std::int32_t> classes);

/// The first extent of an array of floats or bytes counts the samples: a .npy file, or a .safetensors file with one
/// tensor, or with one called "images". Throws Error naming the file and what is wrong with it.
std::unique_ptr<Samples> array_samples(const std::string& path);

/// Samples that are stored as (H, W, C), transposed to the (C, H, W) that networks take.
std::unique_ptr<Samples> channels_first(std::unique_ptr<Samples> samples);

/// `count` images of random pixels, keyed by the seed: for measuring.
std::unique_ptr<Samples> random_samples(std::size_t count, std::vector<std::int64_t> shape, std::uint64_t seed);

}  // namespace evener::data
