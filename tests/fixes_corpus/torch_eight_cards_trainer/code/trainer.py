import torch
import torch.nn as nn


class Trainer:
    def __init__(self, folder):
        self.folder = folder
        self.model = nn.Linear(2, 2).cuda()
        self.optimizer = torch.optim.SGD(self.model.parameters(), lr=0.1)

    def fit(self):
        for epoch in range(2):
            self.optimizer.step()

        torch.save(self.model.state_dict(), self.folder + "/weights.pth")
