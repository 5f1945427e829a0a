// Computes small networks of windows alone (convolutions without padding, PReLUs, max-pools, and linear layers, whose
// window is all there is) for images of any size, without compiling anything for a size and without keeping more of an
// image than the rows under a window.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
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

/// What an output of the network came to: (channels, rows, columns, images).
struct WindowOutput {
  std::string name;
  std::int64_t channels = 0, rows = 0, columns = 0;
  std::vector<float> values;
};

/// Computes on the thread that calls it, in float32. Not thread-safe.
class WindowNetwork {
 public:
  /// Why it can't compute a network; "" if it can.
  static std::string refusal(const network::Network& network);

  /// Throws Error with the refusal, or naming a tensor that `state` lacks or that has another shape.
  WindowNetwork(const network::Network& network, const TensorMap& state);
  ~WindowNetwork();

  /// Writes a row of the images, plane by plane: (width, count). Asked for once for each row, in their order.
  using ReadRow = std::function<void(std::int64_t row, std::span<float* const> planes)>;
  /// The outputs in the order of the network's; valid until the next call. Images that are smaller than a window give
  /// none of their places: rows and columns are 0. Throws Error where the network has linear layers and the images
  /// another size than its own.
  const std::vector<WindowOutput>& run(const WindowImages& images, const ReadRow& read);

 private:
  struct Stage;
  void set_size(const WindowImages& images);
  bool can_go_on(const Stage& stage) const;
  void make_row(Stage& stage);
  void hand_on(int stage);

  std::vector<Stage> stages_;  // the image first, in topological order
  std::int64_t images_ = 1;
  std::optional<network::Shape> only_size_;  // of images: (C, H, W)
  std::vector<WindowOutput> outputs_;
  std::vector<float> scratch_;
};

}  // namespace evener::engine
