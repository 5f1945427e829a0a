"""Trains a network and says how well it does:  python3 train.py [MODEL] [DATA] [FOLDER]

Without arguments it trains a small perceptron on generated digits, which takes a second. With photos in a folder for
each class:  python3 train.py resnet18 photos/ runs/photos
"""
import sys

import evener


def show(epoch):
    """Called after each epoch, with a dict."""
    print(f"epoch {epoch['epoch']}: loss {epoch['train_loss']:.4f}, validation accuracy {epoch['val_accuracy']:.1%}")


def main(model="mlp:784-64-10", data="synth:digits:1000", folder="runs/digits"):
    # Options are those of `evener train`, with '_' for '-'; evener.options("train") lists them.
    run = evener.train(model, data=data, epochs=5, batch=32, lr=0.1, out=folder, overwrite=True, on_epoch=show)
    # run.record is record.json: whatever is known about the run.
    print(f"accuracy on images that it has not seen: {run.record['accuracy']['test']:.1%}")
    print(f"weights, tables and record are in {run.folder}")


if __name__ == "__main__":
    try:
        main(*sys.argv[1:4])
    except evener.Error as error:
        sys.exit(f"train: {error}")
