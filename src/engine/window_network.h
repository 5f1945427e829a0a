// Computes small networks of convolutions without padding, PReLUs, max-pools and linear layers for images of any size.
// It compiles nothing for a size, and of each layer's input it keeps only the rows under its window.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/tensor.h"
#include "network/network.h"

namespace evener::engine {

/// Images of one size that are computed together.
struct WindowImages {
  std::int64_t height = 0, width = 0, count = 1;
};

/// The values of one output of the network: (channels, rows, columns, images).
struct WindowOutput {
  std::string name;
  std::int64_t channels = 0, rows = 0, columns = 0;
  std::vector<float> values;
};

/// Such a network with its weights. Computes on the calling thread, in float32. Not thread-safe.
class WindowNetwork {
 public:
  /// Why this class can't compute a network; "" if it can.
  static std::string refusal(const network::Network& network);

  /// Throws Error with the refusal, or naming a tensor that `state` lacks or that has another shape.
  WindowNetwork(const network::Network& network, const TensorMap& state);
  ~WindowNetwork();

  /// Writes one row of the images into the planes, one per channel: (width, count) each. Called once for each row, from
  /// top to bottom.
  using ReadRow = std::function<void(std::int64_t row, std::span<float* const> planes)>;
  /// Returns the outputs in the order of Network::outputs(); valid until the next call. Outputs of images that are
  /// smaller than a window have 0 rows and columns. Throws Error where the network has linear layers and the images
  /// don't have the network's input size.
  const std::vector<WindowOutput>& run(const WindowImages& images, const ReadRow& read);

 private:
  struct Stage;
  void set_size(const WindowImages& images);
  bool can_go_on(const Stage& stage) const;
  void make_rows(Stage& stage);
  void hand_on(int stage);

  std::vector<Stage> stages_;  // the image first, in topological order
  std::int64_t images_ = 1;
  std::optional<network::Shape> only_size_;  // of images: (C, H, W)
  std::vector<WindowOutput> outputs_;
  std::vector<float> scratch_;
};

}  // namespace evener::engine
