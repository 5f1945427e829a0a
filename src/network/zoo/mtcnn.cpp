// The three networks of MTCNN (Zhang et al., Joint Face Detection and Alignment using Multi-task Cascaded Convolutional
// Networks, 2016), with the names and sizes of facenet-pytorch's, so that its weights load (faces/find/mtcnn.h). Each
// gives the scores of "no face" and "face" before the softmax, and four shifts of a box's sides; the last one five
// landmarks too.
#include <string>

#include "base/error.h"
#include "network/zoo.h"

namespace evener::network {
namespace {

/// A convolution without padding, and a PReLU: layers convN and preluN.
void add_convolution(Network& network, const std::string& number, std::int64_t channels, Extent2d kernel) {
  network.add("conv" + number, Conv2d{.out_channels = channels, .kernel = kernel, .bias = true});
  network.add("prelu" + number, PRelu{});
}

void add_pool(Network& network, const std::string& number, Extent2d kernel) {
  network.add("pool" + number, MaxPool{.kernel = kernel, .stride = 2, .ceil_mode = true});
}

/// The network for images of `size` x `size`, the only size that its weights fit.
Network of_size(std::string_view name, const ModelOptions& options, std::int64_t size) {
  const Shape shape = {3, size, size};
  if (options.input && *options.input != shape) {
    throw UsageError(std::string(name) + " takes images of " + std::to_string(size) + "x" + std::to_string(size) +
                     " pixels in colour; leave out --size and --channels");
  }
  return Network(std::string(name), shape);
}

/// The outputs that branch off from the layer before.
void add_heads(Network& network, const std::string& number, bool landmarks) {
  const int trunk = static_cast<int>(network.layers().size()) - 1;
  const auto head = [&](const char* part, const char* output, std::int64_t values) {
    network.set_output(output, network.add("dense" + number + part, Linear{.out_features = values}, {trunk}));
  };
  head("_1", "scores", 2);
  head("_2", "shifts", 4);
  if (landmarks) head("_3", "landmarks", 10);
}

}  // namespace

Network build_mtcnn_pnet(std::string_view name, const ModelOptions& options) {
  Network network(std::string(name), options.input.value_or(Shape{3, 12, 12}));
  add_convolution(network, "1", 10, 3);
  add_pool(network, "1", 2);
  add_convolution(network, "2", 16, 3);
  add_convolution(network, "3", 32, 3);
  const int trunk = static_cast<int>(network.layers().size()) - 1;
  network.set_output("scores", network.add("conv4_1", Conv2d{.out_channels = 2, .bias = true}, {trunk}));
  network.set_output("shifts", network.add("conv4_2", Conv2d{.out_channels = 4, .bias = true}, {trunk}));
  return network;
}

Network build_mtcnn_rnet(std::string_view name, const ModelOptions& options) {
  Network network = of_size(name, options, 24);
  add_convolution(network, "1", 28, 3);
  add_pool(network, "1", 3);
  add_convolution(network, "2", 48, 3);
  add_pool(network, "2", 3);
  add_convolution(network, "3", 64, 2);
  network.add("flatten", Flatten{});
  network.add("dense4", Linear{.out_features = 128});
  network.add("prelu4", PRelu{});
  add_heads(network, "5", /*landmarks=*/false);
  return network;
}

Network build_mtcnn_onet(std::string_view name, const ModelOptions& options) {
  Network network = of_size(name, options, 48);
  add_convolution(network, "1", 32, 3);
  add_pool(network, "1", 3);
  add_convolution(network, "2", 64, 3);
  add_pool(network, "2", 3);
  add_convolution(network, "3", 64, 3);
  add_pool(network, "3", 2);
  add_convolution(network, "4", 128, 2);
  network.add("flatten", Flatten{});
  network.add("dense5", Linear{.out_features = 256});
  network.add("prelu5", PRelu{});
  add_heads(network, "6", /*landmarks=*/true);
  return network;
}

}  // namespace evener::network
