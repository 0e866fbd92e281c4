#!/usr/bin/env python
# coding: utf-8

# # Train a model

# In[1]:


import argparse
import sys


# In[2]:


parser = argparse.ArgumentParser()
parser.add_argument("--lr", type=float, default=0.1)
parser.add_argument("--epochs", type=int, default=2)
args = parser.parse_args()


# In[ ]:


print(args.lr)
