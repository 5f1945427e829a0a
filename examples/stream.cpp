// Answers images as a camera delivers them, one by one:  stream MODEL, as in  stream runs/a
#include <evener/evener.h>

#include <algorithm>
#include <cstdio>
#include <vector>

int main(int argc, char** argv) {
  if (argc != 2) {
    std::fprintf(stderr, "usage: stream MODEL\n");
    return 2;
  }
  try {
    // One image a call, with all threads on it: each is answered soonest.
    evener::LoadedNetwork network(argv[1], {{"batch", 1}, {"streams", 1}});
    for (const std::string& note : network.notes()) std::fprintf(stderr, "note: %s\n", note.c_str());
    const std::int64_t height = 120, width = 160;
    std::vector<std::uint8_t> frame(static_cast<std::size_t>(height * width * 3));
    for (int number = 0; number < 100; ++number) {
      for (std::size_t i = 0; i < frame.size(); ++i)
        frame[i] = static_cast<std::uint8_t>(i * 7 + number);  // the camera
      const evener::Outputs outputs = network.run(evener::PictureSpan{frame.data(), 1, height, width, 3});
      const std::vector<float>& scores = outputs.at(network.main_output()).values;
      const auto best = static_cast<std::size_t>(std::max_element(scores.begin(), scores.end()) - scores.begin());
      std::printf("frame %d: %s (%.3f)\n", number, network.class_name(best).c_str(), scores[best]);
    }
    return 0;
  } catch (const evener::Error& error) {
    std::fprintf(stderr, "stream: %s\n", error.what());
    return 1;
  }
}
