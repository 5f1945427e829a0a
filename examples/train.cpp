// Trains a network and says how it goes:  train MODEL DATA FOLDER, as in  train resnet18 photos/ runs/a
#include <evener/evener.h>

#include <cstdio>

namespace {

class Progress : public evener::Observer {
  void epoch(const evener::EpochEvent& event) override {
    std::printf("epoch %d: loss %.4f", event.epoch, event.train_loss);
    if (event.val_accuracy) std::printf(", validation accuracy %.2f %%", 100 * *event.val_accuracy);
    std::printf(" (%.1f s)\n", event.seconds);
  }
};

}  // namespace

int main(int argc, char** argv) {
  if (argc != 4) {
    std::fprintf(stderr, "usage: train MODEL DATA FOLDER\n");
    return 2;
  }
  try {
    Progress progress;
    const evener::Result result = evener::train(
        {{"model", argv[1]}, {"data", argv[2]}, {"out", argv[3]}, {"epochs", 3}, {"overwrite", true}}, &progress);
    std::printf("%s; results in %s\n", evener::status_name(result.status), result.folder.c_str());
    return result.status == evener::Result::Status::kDone ? 0 : 1;
  } catch (const evener::Error& error) {
    std::fprintf(stderr, "train: %s\n", error.what());
    return 1;
  }
}
